#include "edge/log/own.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"

/* ---- the key ---- */

/* Makes the missing folders of a path, for this user only. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

static bool path_of(char *to, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;
    if (state && *state == '/')
        n = snprintf(to, size, "%s/nutmeg/key", state);
    else if (home && *home == '/')
        n = snprintf(to, size, "%s/.local/state/nutmeg/key", home);
    else
        n = snprintf(to, size, "/var/tmp/nutmeg-%u/key", (unsigned)getuid());
    return n > 0 && (size_t)n < size;
}

static bool read_key(const char *path, uint8_t key[NM_OWN_KEY])
{
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return false;
    bool good = !fstat(file, &about) && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
                !(about.st_mode & (S_IRWXG | S_IRWXO)) && about.st_size == NM_OWN_KEY &&
                read(file, key, NM_OWN_KEY) == NM_OWN_KEY;
    close(file);
    return good;
}

/* Writes the key under a temporary name first, so that another process finds a whole key or none. The first process
 * that renames its file wins. */
static void make_key(const char *path)
{
    char fresh[4200];
    uint8_t key[NM_OWN_KEY];
    if (getrandom(key, sizeof key, 0) != sizeof key) return;
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return;
    bool whole = write(file, key, sizeof key) == sizeof key && !fsync(file);
    close(file);
    bool first = whole && !link(fresh, path);
    (void)first; /* otherwise the key of another process is there, which is as good */
    unlink(fresh);
}

bool nm_own_key(uint8_t key[NM_OWN_KEY], bool make)
{
    char path[4096];
    if (!path_of(path, sizeof path)) return false;
    if (read_key(path, key)) return true;
    if (!make || access(path, F_OK) == 0) return false;
    make_folders(path);
    make_key(path);
    return read_key(path, key);
}

/* ---- signatures ---- */

static void add_padded(struct nm_sha256 *sha, const uint8_t key[NM_OWN_KEY], uint8_t pad)
{
    uint8_t block[64];
    memset(block, pad, sizeof block);
    for (int i = 0; i < NM_OWN_KEY; i++) block[i] ^= key[i];
    nm_sha256_start(sha);
    nm_sha256_add(sha, block, sizeof block);
}

void nm_own_sign(const uint8_t key[NM_OWN_KEY], const char *cycle, uint64_t run, const void *state, size_t n,
                 uint8_t signature[NM_OWN_SIGNATURE])
{
    struct nm_sha256 sha;
    uint8_t inner[32];
    add_padded(&sha, key, 0x36);
    nm_sha256_add(&sha, cycle, strlen(cycle) + 1);
    nm_sha256_add(&sha, &run, sizeof run);
    nm_sha256_add(&sha, state, n);
    nm_sha256_end(&sha, inner);
    add_padded(&sha, key, 0x5c);
    nm_sha256_add(&sha, inner, sizeof inner);
    nm_sha256_end(&sha, signature);
}

bool nm_own_signed(const uint8_t key[NM_OWN_KEY], const char *cycle, uint64_t run, const void *state, size_t n)
{
    uint8_t should[NM_OWN_SIGNATURE], differs = 0;
    if (n < NM_OWN_SIGNATURE) return false;
    const uint8_t *is = (const uint8_t *)state + n - NM_OWN_SIGNATURE;
    nm_own_sign(key, cycle, run, state, n - NM_OWN_SIGNATURE, should);
    for (int i = 0; i < NM_OWN_SIGNATURE; i++) differs |= should[i] ^ is[i];
    return !differs;
}
