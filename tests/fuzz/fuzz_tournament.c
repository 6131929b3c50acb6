/* Any bytes as the games of a tournament: refused with a sentence, or ratings that are finite. */
#include <math.h>

#include "cmd/tournament.h"
#include "files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tournament t = {.settings = "league hsl", .n_teams = 2, .teams = {"match", "beginner"}};
    struct tournament_rank ranks[TOURNAMENT_TEAMS];
    struct nm_err err = {0};
    int bad = tournament_read(&t, fuzz_put("games.txt", data, size), &err);
    if ((bad != 0) != (err.n > 0)) abort();
    tournament_rank(&t, ranks);
    if (!isfinite(ranks[0].elo + ranks[1].elo)) abort();
    tournament_free(&t);
    return 0;
}
