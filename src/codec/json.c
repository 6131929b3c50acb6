#include "codec/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void nm_json_begin(struct nm_json *json, size_t most) { *json = (struct nm_json){.most = most}; }

void nm_json_end(struct nm_json *json)
{
    free(json->text);
    json->text = NULL;
}

static void add(struct nm_json *json, const char *text, size_t n)
{
    if (json->over || n > json->most - json->n) {
        json->over = true;
        return;
    }
    if (json->n + n + 1 > json->room) {
        size_t room = json->room ? json->room : 1024;
        while (room < json->n + n + 1) room *= 2;
        char *grown = realloc(json->text, room);
        if (!grown) {
            json->over = true;
            return;
        }
        json->text = grown;
        json->room = room;
    }
    memcpy(json->text + json->n, text, n);
    json->n += n;
    json->text[json->n] = '\0';
}

static void add_text(struct nm_json *json, const char *text)
{
    const char *end = text + strlen(text);
    add(json, "\"", 1);
    while (text < end) {
        const char *from = text;
        uint32_t c = nm_utf8_take(&text, end);
        char escape[8];
        if (c == NM_NOT_UTF8) {
            add(json, "?", 1);
        } else if (c == '"' || c == '\\') {
            add(json, (char[]){'\\', (char)c}, 2);
        } else if (c == '\n') {
            add(json, "\\n", 2);
        } else if (c < ' ' || c == 0x7f) {
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)c);
            add(json, escape, 6);
        } else {
            add(json, from, (size_t)(text - from));
        }
    }
    add(json, "\"", 1);
}

static void before(struct nm_json *json, const char *key)
{
    if (json->comma) add(json, ", ", 2);
    json->comma = true;
    if (!key) return;
    add_text(json, key);
    add(json, ": ", 2);
}

void nm_json_open(struct nm_json *json, const char *key, char bracket)
{
    before(json, key);
    add(json, &bracket, 1);
    json->comma = false;
}

void nm_json_close(struct nm_json *json, char bracket)
{
    add(json, &bracket, 1);
    json->comma = true;
}

void nm_json_text(struct nm_json *json, const char *key, const char *text)
{
    before(json, key);
    if (text)
        add_text(json, text);
    else
        add(json, "null", 4);
}

void nm_json_number(struct nm_json *json, const char *key, double value)
{
    char text[32];
    before(json, key);
    int n = isfinite(value) ? snprintf(text, sizeof text, "%.9g", value) : snprintf(text, sizeof text, "null");
    add(json, text, (size_t)n);
}

void nm_json_exact(struct nm_json *json, const char *key, double value)
{
    char text[32];
    if (!isfinite(value) || (double)(float)value == value) {
        nm_json_number(json, key, value); /* nine digits bring a float back */
        return;
    }
    before(json, key);
    int n = snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value) n = snprintf(text, sizeof text, "%.17g", value);
    add(json, text, (size_t)n);
}

void nm_json_whole(struct nm_json *json, const char *key, int64_t value)
{
    char text[32];
    before(json, key);
    add(json, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
}

void nm_json_bool(struct nm_json *json, const char *key, bool value)
{
    before(json, key);
    add(json, value ? "true" : "false", value ? 4 : 5);
}
