/* What this user recorded on this machine. A snapshot in a log becomes the state of modules, words and all, so it is as
 * good as code: the log signs its snapshots with a key that only this user can read, and a replay takes those that
 * carry the signature. The key lies in $XDG_STATE_HOME/nutmeg/key, ~/.local/state/nutmeg/key, and is made at random
 * when it is first needed.
 *
 * The signature is HMAC-SHA-256 (RFC 2104) over the cycle's name, its run and the state; it stands behind the state. */
#ifndef NM_EDGE_LOG_OWN_H
#define NM_EDGE_LOG_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NM_OWN_KEY = 32, NM_OWN_SIGNATURE = 32 };

/* The key; `make`: a new one if there is none. False where there is none, or where others could read or write it. */
bool nm_own_key(uint8_t key[NM_OWN_KEY], bool make);
void nm_own_sign(const uint8_t key[NM_OWN_KEY], const char *cycle, uint64_t run, const void *state, size_t n,
                 uint8_t signature[NM_OWN_SIGNATURE]);
/* Whether the last bytes of a signed state are its signature. */
bool nm_own_signed(const uint8_t key[NM_OWN_KEY], const char *cycle, uint64_t run, const void *state, size_t n);

#endif
