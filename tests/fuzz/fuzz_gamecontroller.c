/* Bytes that pretend to be packets of a game controller or of a robot: what is read can be written, and then reads the
 * same. */
#include "codec/gamecontroller.h"

#include <stdlib.h>
#include <string.h>

static void check_control(const uint8_t *data, size_t size)
{
    uint8_t wire[NM_GAME_LONGEST];
    struct nm_game_packet packet, back;
    if (nm_game_decode(data, size, &packet) != NM_GAME_FINE) return;
    size_t n = nm_game_encode(&packet, wire, sizeof wire);
    if (n != size || nm_game_decode(wire, n, &back) != NM_GAME_FINE) abort();
    for (int t = 0; t < 2; t++) /* two goalkeepers become one */
        for (int i = 0; i < NM_GAME_PLAYERS; i++)
            packet.teams[t].players[i].goalkeeper = back.teams[t].players[i].goalkeeper;
    if (memcmp(&packet, &back, sizeof back)) abort();
}

static void check_return(const uint8_t *data, size_t size)
{
    uint8_t wire[NM_GAME_RETURN_LONGEST];
    struct nm_game_return said, back;
    if (!nm_game_return_decode(data, size, &said)) return;
    size_t n = nm_game_return_encode(&said, wire, sizeof wire);
    /* a number near the largest float can become infinite on its way through millimetres */
    if (n && (n != size || !nm_game_return_decode(wire, n, &back) || back.player != said.player)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_control(data, size);
    check_return(data, size);
    if (nm_game_request_decode(data, size) && size != NM_GAME_REQUEST) abort();
    return 0;
}
