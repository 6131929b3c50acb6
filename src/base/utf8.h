/* Reads UTF-8 one character at a time. Overlong forms, surrogates and code points above U+10FFFF are not UTF-8. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NM_NOT_UTF8 UINT32_MAX

/* Returns the code point at *text, which must be before `end`, and moves *text behind it. Where the bytes are not UTF-8
 * it returns NM_NOT_UTF8 and moves *text by one byte. */
static inline uint32_t nm_utf8_take(const char **text, const char *end)
{
    static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)*text;
    size_t left = (size_t)(end - *text);
    uint32_t c = at[0], more = c >> 5 == 6 ? 1 : c >> 4 == 14 ? 2 : c >> 3 == 30 ? 3 : 0;
    ++*text;
    if (c < 0x80) return c;
    if (!more || left <= more) return NM_NOT_UTF8;
    c &= 0x3fu >> more;
    for (uint32_t i = 1; i <= more; i++) {
        if (at[i] >> 6 != 2) return NM_NOT_UTF8;
        c = c << 6 | (at[i] & 0x3fu);
    }
    if (c < smallest[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return NM_NOT_UTF8;
    *text += more;
    return c;
}
