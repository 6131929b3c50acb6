/* The debugger's page, built from web/ and committed in web/dist. The assembler takes its files into the program, so
 * that a robot needs no folder for them. CMake lists them in NM_PAGE_FILES, one PAGE(NUMBER, NAME, PATH) for each. */
#include <string.h>

#include "edge/live/live_inside.h"

#define PAGE(k, name, path)                                                                                            \
    __asm__(".pushsection .rodata\n"                                                                                   \
            "nm_page_" #k "_begin: .incbin \"" path "\"\n"                                                             \
            "nm_page_" #k "_end: .byte 0\n"                                                                            \
            ".popsection");                                                                                            \
    extern const uint8_t nm_page_##k##_begin[], nm_page_##k##_end[];
#include NM_PAGE_FILES
#undef PAGE

bool page_find(const char *name, struct page_file *to)
{
#define PAGE(k, name, path) {name, nm_page_##k##_begin, nm_page_##k##_end},
    static const struct {
        const char *name;
        const uint8_t *begin, *end;
    } files[] = {
#include NM_PAGE_FILES
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(files[i].name, name)) continue;
        *to = (struct page_file){files[i].name, files[i].begin, (size_t)(files[i].end - files[i].begin)};
        return true;
    }
    return false;
}
