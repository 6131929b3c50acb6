/* Any lines as orders of a referee: each is refused with a sentence, or the match goes on and can be told. */
#include <stdlib.h>
#include <string.h>

#include "referee/orders.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_match match;
    struct nm_match_options options = {
        .league = (enum nm_game_league)(size % NM_GAME_LEAGUES), .team_numbers = {1, 2}, .knock_out = size & 1};
    if (nm_match_begin(&match, &options, NULL)) abort();
    for (size_t at = 0; at < size;) {
        char line[200];
        size_t n = 0;
        while (at < size && data[at] != '\n' && n + 1 < sizeof line) line[n++] = (char)data[at++];
        if (at < size && data[at] == '\n') at++;
        line[n] = '\0';
        struct nm_match_event event;
        struct nm_err err = {0};
        bool bad = nm_order_read(&match, line, &event, &err) || nm_match_happen(&match, &event, &err);
        if (bad != (err.n > 0)) abort();
        nm_match_advance(&match, match.now + 1000000000);
        struct nm_game_packet packet;
        uint8_t bytes[NM_GAME_LONGEST];
        nm_match_packet(&match, false, 0, &packet);
        if (!nm_game_encode(&packet, bytes, sizeof bytes)) abort();
    }
    return 0;
}
