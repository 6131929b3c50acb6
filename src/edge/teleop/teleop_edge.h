/* The edge for a person who drives: a joystick or the keyboard of the terminal becomes the topic `joy`. The program
 * that runs the player calls nm_teleop_poll about fifty times a second; it never waits. Every call publishes the state,
 * so silence means a dead joystick. While a joystick is unplugged nothing is published; when it is back, it is found
 * again. */
#pragma once

#include "core/player.h"

struct nm_teleop;

/* device: "keys" for the keyboard, or a path such as /dev/input/js0. Call it between nm_player_new and nm_player_start.
 * NULL with a sentence: there is no such device or no terminal, or no module reads `joy`. */
struct nm_teleop *nm_teleop_new(struct nm_player *player, const char *device, struct nm_err *err);
/* Restores the terminal. NULL is allowed. */
void nm_teleop_free(struct nm_teleop *teleop);

void nm_teleop_poll(struct nm_teleop *teleop, int64_t now);
