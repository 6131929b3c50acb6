/* The edge that speaks: what arrives on `utterance` is said by the program espeak-ng, one sentence at a time, and
 * `speaking` says whether it still speaks. The program runs as a process of its own, so that nothing waits for it and
 * its libraries are needed only where somebody wants to hear. Without a sound card it is silent. */
#pragma once

#include "core/player.h"

struct nm_speech;

/* Call it between nm_player_new and the start. NULL with a sentence: espeak-ng is not installed, or the line-up has no
 * module that speaks. */
struct nm_speech *nm_speech_new(struct nm_player *player, struct nm_err *err);
void nm_speech_free(struct nm_speech *speech); /* ends what is being said; NULL is allowed */

/* Begins what is to be said and looks whether it is over. Call it about fifty times a second; it never waits. */
void nm_speech_poll(struct nm_speech *speech, int64_t now);
