#include "cmd/logging.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/console.h"
#include "cmd/crash.h"
#include "cmd/machine.h"
#include "core/files.h"

static const char *const packings[] = {[NM_MCAP_STORED] = "none", [NM_MCAP_LZ4] = "lz4", [NM_MCAP_ZSTD] = "zstd"};

int logging_check(const struct usage *usage, const struct logging_flags *flags)
{
    if (flags->images && nm_word_of(flags->images, nm_log_images_names, NM_LOG_IMAGES) < 0)
        return usage_wrong(usage, "--log-images must be jpeg, raw, thumbnails or none, not '%s'", flags->images);
    if (flags->compress && nm_word_of(flags->compress, packings, 3) < 0)
        return usage_wrong(usage, "--log-compress must be lz4, zstd or none, not '%s'", flags->compress);
    if (!flags->path && (flags->images || flags->compress || flags->rotate > 0))
        return usage_wrong(usage, "--log-images, --log-compress and --log-rotate need --log");
    return 0;
}

/* Where the black box of a player lies. */
static const char *black_box_of(struct nm_arena *arena, const char *player)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state == '/') return nm_take_format(arena, "%s/nutmeg/black-box/%s", state, player);
    if (home && *home == '/') return nm_take_format(arena, "%s/.local/state/nutmeg/black-box/%s", home, player);
    return nm_take_format(arena, "/var/tmp/nutmeg-%u/black-box/%s", (unsigned)getuid(), player);
}

static int find_build(struct dl_phdr_info *info, size_t size, void *to)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_NOTE) continue;
        const char *at = (const char *)(uintptr_t)(info->dlpi_addr + part->p_vaddr), *end = at + part->p_memsz;
        while (at + sizeof(ElfW(Nhdr)) < end) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
            const char *name = at + sizeof *note, *bytes = name + (note->n_namesz + 3) / 4 * 4;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4))
                for (uint32_t k = 0; k < note->n_descsz && k < 20; k++)
                    snprintf((char *)to + 2 * k, 3, "%02x", (unsigned char)bytes[k]);
            at = bytes + (note->n_descsz + 3) / 4 * 4;
        }
    }
    return 1; /* the program itself comes first */
}

const char *program_build(char to[64])
{
    to[0] = '\0';
    dl_iterate_phdr(find_build, to);
    return to;
}

static void said(void *user, const char *sentence)
{
    (void)user;
    fprintf(stderr, "%s%s%s\n", ink(stderr, INK_YELLOW), sentence, ink(stderr, INK_PLAIN));
}

const char *logging_folder(struct nm_arena *arena, const struct logging_flags *flags)
{
    const char *end = flags->path ? strrchr(flags->path, '.') : NULL;
    if (!flags->path) return "out";
    return end && !strcmp(end, ".mcap") ? nm_folder_of(arena, flags->path) : flags->path;
}

int logging_open(struct nm_log **log, struct nm_player *player, const struct logging_flags *flags,
                 const struct logging_how *how, struct nm_err *err)
{
    struct nm_arena arena = {0};
    char cpu[128], build[64];
    const char *box = flags->box  ? (strcmp(flags->box, "none") ? flags->box : NULL)
                      : how->body ? black_box_of(&arena, nm_player_name(player))
                                  : NULL;
    struct nm_log_options options = {.path = flags->path,
                                     .box = box,
                                     .packing = NM_MCAP_LZ4,
                                     .quality = (int)flags->quality,
                                     .rotate = (uint64_t)(flags->rotate * 1e6),
                                     .floor = (uint64_t)(flags->floor * 1e6),
                                     .virtual_time = how->virtual_time,
                                     .revision = program_revision(),
                                     .build = program_build(build),
                                     .cpu = machine_cpu(cpu, sizeof cpu),
                                     .said = said};
    if (flags->compress) options.packing = (enum nm_mcap_packing)nm_word_of(flags->compress, packings, 3);
    if (flags->images)
        options.images = (enum nm_log_images)nm_word_of(flags->images, nm_log_images_names, NM_LOG_IMAGES);
    *log = NULL;
    int rc = 0;
    crash_tell(options.box ? options.box : options.path && nm_folder_exists(options.path) ? options.path : NULL);
    if (options.path || options.box) {
        struct nm_err why = {0};
        *log = nm_log_new(player, &options, &why);
        /* nobody asked for a black box: where none can be, the robot plays without */
        bool asked = flags->path || flags->box;
        if (!*log && asked) rc = nm_fail(err, "%.*s", (int)strcspn(why.text, "\n"), why.text);
        if (!*log && !asked) said(NULL, why.text);
    }
    nm_arena_free(&arena);
    return rc;
}

void logging_close(struct nm_log *log, FILE *to)
{
    char size[32], path[4096];
    if (!log) return;
    struct nm_log_stats stats;
    bool told = nm_log_path(log) != NULL;
    if (told) snprintf(path, sizeof path, "%s", nm_log_path(log));
    nm_log_end(log);
    nm_log_stats(log, &stats);
    nm_log_free(log);
    if (!told) return;
    fprintf(to, "log: %s, %llu messages, %s", path, (unsigned long long)stats.messages,
            bytes_text(size, (double)stats.bytes));
    if (stats.dropped) fprintf(to, ", %llu of them dropped", (unsigned long long)stats.dropped);
    fputc('\n', to);
}
