/* Signatures of snapshots: which logs this user recorded on this machine. A snapshot in a log becomes the state of
 * modules, byte for byte, so it is as dangerous as code. Therefore the log signs its snapshots with a
 * key that only this user can read, and a replay accepts only snapshots with a valid signature. The key is in
 * $XDG_STATE_HOME/nutmeg/key or ~/.local/state/nutmeg/key. It is random and is made when it is first needed.
 *
 * The signature is HMAC-SHA-256 (RFC 2104) over the name of the cycle, its run and the state; it follows the state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NM_OWN_KEY = 32, NM_OWN_SIGNATURE = 32 };

/* Reads the key; `make`: makes a new one if there is none. False if there is none, or if others could read or write it.
 */
bool nm_own_key(uint8_t key[NM_OWN_KEY], bool make);
void nm_own_sign(const uint8_t key[NM_OWN_KEY], const char *cycle, uint64_t run, const void *state, size_t n,
                 uint8_t signature[NM_OWN_SIGNATURE]);
/* Whether the last bytes of a signed state are its valid signature. */
bool nm_own_signed(const uint8_t key[NM_OWN_KEY], const char *cycle, uint64_t run, const void *state, size_t n);
