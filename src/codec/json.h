/* Writes JSON into memory that grows up to a limit. It adds commas and escapes itself. Bytes of a text that are not
 * UTF-8 become '?'; a number that JSON cannot express becomes null.
 *
 *     nm_json_open(&json, NULL, '{');
 *     nm_json_text(&json, "name", "imu");
 *     nm_json_open(&json, "readers", '[');
 *     nm_json_text(&json, NULL, "orientation");
 *     nm_json_close(&json, ']');
 *     nm_json_close(&json, '}');
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nm_json {
    char *text; /* NUL-terminated once something was written           */
    size_t n, room;
    size_t most; /* bytes; text beyond them is dropped and `over` is set */
    bool over;
    bool comma; /* the next value follows another one                 */
};

void nm_json_begin(struct nm_json *json, size_t most);
void nm_json_end(struct nm_json *json); /* frees the text */

/* A value inside '{' has a key; inside '[' and at the top the key is NULL. */
void nm_json_open(struct nm_json *json, const char *key, char bracket);
void nm_json_close(struct nm_json *json, char bracket);
void nm_json_text(struct nm_json *json, const char *key, const char *text); /* a NULL text becomes null */
void nm_json_number(struct nm_json *json, const char *key, double value);
void nm_json_exact(struct nm_json *json, const char *key, double value); /* with all the digits it needs */
void nm_json_whole(struct nm_json *json, const char *key, int64_t value);
void nm_json_bool(struct nm_json *json, const char *key, bool value);
