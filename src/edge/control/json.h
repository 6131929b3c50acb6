/* Writes JSON into memory that grows up to a limit. Commas and escapes are its own business; a text with bytes that are
 * no UTF-8 gets '?' for them, a number that JSON cannot write becomes null.
 *
 *     nm_json_open(&json, NULL, '{');
 *     nm_json_text(&json, "name", "imu");
 *     nm_json_open(&json, "readers", '[');
 *     nm_json_text(&json, NULL, "orientation");
 *     nm_json_close(&json, ']');
 *     nm_json_close(&json, '}');
 */
#ifndef NM_EDGE_CONTROL_JSON_H
#define NM_EDGE_CONTROL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nm_json {
    char *text; /* NUL-terminated once something was written          */
    size_t n, room;
    size_t most; /* bytes; what goes beyond is dropped and `over` set  */
    bool over;
    bool comma; /* the next value stands behind another              */
};

void nm_json_begin(struct nm_json *json, size_t most);
void nm_json_end(struct nm_json *json); /* gives the memory back */

/* A value stands under a key inside '{', under NULL inside '[' and at the top. */
void nm_json_open(struct nm_json *json, const char *key, char bracket);
void nm_json_close(struct nm_json *json, char bracket);
void nm_json_text(struct nm_json *json, const char *key, const char *text); /* NULL: null */
void nm_json_number(struct nm_json *json, const char *key, double value);
void nm_json_exact(struct nm_json *json, const char *key, double value); /* with every digit that it needs */
void nm_json_whole(struct nm_json *json, const char *key, int64_t value);
void nm_json_bool(struct nm_json *json, const char *key, bool value);

#endif
