/* The team message of the Humanoid League (RobocupProtocol, proto3, package robocup.humanoid) with the extension of the
 * Hamburg Bit-Bots, read and written by hand: the wire format of the eight small messages is less code than a generated
 * library, needs no compiler for .proto files, and takes no memory, as a step of a module must not. The message names
 * neither team nor number: the port is the team's, and repeated messages have the same time. */
#pragma once

#include "codec/team_news.h"

/* Returns the length; 0 if not even the sender fits. */
NM_EXPORT size_t nm_protobuf_encode(const struct nm_team_news *news, void *bytes, size_t room);
/* False: it is not well formed, or does not say who speaks. */
NM_EXPORT bool nm_protobuf_decode(const void *bytes, size_t n, struct nm_team_news *news);
