#include "edge/control/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Bytes of the UTF-8 character at `text`, 0 if it is none (overlong forms, surrogates and beyond U+10FFFF included). */
static size_t utf8(const unsigned char *text)
{
    if (text[0] < 0x80) return 1;
    size_t n = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < 0xc2 || text[0] > 0xf4) return 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    static const struct {
        unsigned char first, least, most;
    } second[] = {{0xe0, 0xa0, 0xbf}, {0xed, 0x80, 0x9f}, {0xf0, 0x90, 0xbf}, {0xf4, 0x80, 0x8f}};
    for (size_t i = 0; i < 4; i++)
        if (text[0] == second[i].first && (text[1] < second[i].least || text[1] > second[i].most)) return 0;
    return n;
}

static void add_text(struct nm_json *json, const char *text)
{
    add(json, "\"", 1);
    while (*text) {
        size_t n = utf8((const unsigned char *)text);
        unsigned char c = (unsigned char)*text;
        char escape[8];
        if (!n) {
            add(json, "?", 1);
        } else if (c == '"' || c == '\\') {
            add(json, (char[]){'\\', *text}, 2);
        } else if (c == '\n') {
            add(json, "\\n", 2);
        } else if (c < ' ' || c == 0x7f) {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            add(json, escape, 6);
        } else {
            add(json, text, n);
        }
        text += n ? n : 1;
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
