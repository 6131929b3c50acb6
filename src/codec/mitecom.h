/* mitecom (Mixed Team Communication, FUmanoids) version 1, by which robots of different teams play together. A datagram
 * is a head and a list of keys with values; unknown keys are skipped, and a key that is missing means that the robot
 * does not know. The extension of Marc Bestmann's thesis (2017) is included: other robots and the offensive side. Its
 * documents do not say in which frame other robots are; we use the field's, as for the robot itself. Three keys from
 * the range for users carry our number, time and whistle. */
#pragma once

#include "codec/team_news.h"

/* Returns the length; 0 if not even the head fits. */
NM_EXPORT size_t nm_mitecom_encode(const struct nm_team_news *news, void *bytes, size_t room);
/* False: it is no such datagram. */
NM_EXPORT bool nm_mitecom_decode(const void *bytes, size_t n, struct nm_team_news *news);
