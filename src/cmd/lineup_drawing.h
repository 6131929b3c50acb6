/* The graph of a line-up as a picture: text for Graphviz, or a finished SVG. In the SVG every cycle is a band, its
 * modules stand from left to right as data flows, numbered in the order of their steps; a topic is one line from who
 * makes it to all who read it, dashed where they read the last value. Pointing at a line shows its type and fades the
 * others. The caller looks at ferror(to). */
#pragma once

#include <stdio.h>

#include "core/lineup.h"

void nm_graph_dot(const struct nm_lineup *lineup, FILE *to);
void nm_graph_svg(const struct nm_lineup *lineup, FILE *to);
