/* The edge that a person drives through: a joystick device or the terminal's keyboard becomes the topic `joy`. Whoever
 * runs the player calls nm_teleop_poll some fifty times a second; it never waits. The state is told at every call, so
 * that silence means a dead joystick. One that is unplugged is told as silence too, and found again when it is back. */
#ifndef NM_EDGE_TELEOP_TELEOP_H
#define NM_EDGE_TELEOP_TELEOP_H

#include "core/player.h"

struct nm_teleop;

/* device: "keys" for the keyboard, else a path such as /dev/input/js0. Between nm_player_new and the start. NULL with a
 * sentence: no such device, no terminal, nobody in the line-up reads `joy`. */
struct nm_teleop *nm_teleop_new(struct nm_player *player, const char *device, struct nm_err *err);
/* Gives the terminal back as it was. NULL is fine. */
void nm_teleop_free(struct nm_teleop *teleop);

void nm_teleop_poll(struct nm_teleop *teleop, int64_t now);

#endif
