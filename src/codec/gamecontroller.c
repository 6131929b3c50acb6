#include "codec/gamecontroller.h"

#include <math.h>
#include <string.h>

/* ---- what the dialects have in common: little-endian numbers at fixed places ---- */

/* A number of the wire that is copied as it is. Its member is as wide as it is on the wire. */
struct row {
    uint16_t at;     /* in the packet, the team or the player */
    uint16_t member; /* its place in the struct               */
    uint8_t size;
};
#define ROW(T, at, member)                                                                                             \
    {                                                                                                                  \
        at, offsetof(struct T, member), sizeof((struct T *)0)->member                                                  \
    }

/* A number of the wire and ours. The first row of two that match counts, so later rows only give aliases. */
struct word {
    uint8_t wire, ours;
};

struct dialect {
    uint8_t first, last; /* versions */
    enum nm_game_league league;
    uint16_t size;                 /* bytes of a packet            */
    uint16_t team_at, team_size;   /* of the first team, of a team */
    uint16_t player_at;            /* in the team                  */
    uint16_t player_size, players; /* of a player; how many        */
    uint8_t last_state;
    const struct row *head, *team, *player; /* each ends with size 0 */
    const struct word *set_plays, *penalties;
    uint8_t n_set_plays, n_penalties;
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- Humanoid League ---- */

enum { HL_SECONDARY = 12, HL_TAKER = 13, HL_TAKING = 14, HL_DROPPED_BALL = 128 };

static const struct row hl_head[] = {
    ROW(nm_game_packet, 6, number),
    ROW(nm_game_packet, 7, players_per_team),
    ROW(nm_game_packet, 8, competition),
    ROW(nm_game_packet, 9, state),
    ROW(nm_game_packet, 10, first_half),
    ROW(nm_game_packet, 11, kick_off_team),
    ROW(nm_game_packet, 18, drop_in_seconds),
    ROW(nm_game_packet, 20, seconds),
    ROW(nm_game_packet, 22, secondary_seconds),
    {0},
};
static const struct row hl_team[] = {
    ROW(nm_game_team, 0, number),        ROW(nm_game_team, 1, color),
    ROW(nm_game_team, 2, score),         ROW(nm_game_team, 3, shots),
    ROW(nm_game_team, 4, shots_in),      ROW(nm_game_team, 6, coach_sequence),
    ROW(nm_game_team, 7, coach_message), {0},
};
static const struct row hl_player[] = {
    ROW(nm_game_player, 0, penalty),
    ROW(nm_game_player, 1, seconds),
    ROW(nm_game_player, 2, warnings),
    ROW(nm_game_player, 3, cautions),
    ROW(nm_game_player, 4, red_cards),
    ROW(nm_game_player, 5, goalkeeper),
    {0},
};
static const struct word hl_set_plays[] = {
    {4, NM_GAME_DIRECT_FREE_KICK}, {5, NM_GAME_INDIRECT_FREE_KICK}, {6, NM_GAME_PENALTY_KICK},
    {7, NM_GAME_CORNER_KICK},      {8, NM_GAME_GOAL_KICK},          {9, NM_GAME_THROW_IN},
};
static const struct word hl_penalties[] = {
    {0, NM_GAME_NO_PENALTY}, {14, NM_GAME_SUBSTITUTE},     {15, NM_GAME_MANUAL},          {30, NM_GAME_BALL_HOLDING},
    {31, NM_GAME_PUSHING},   {32, NM_GAME_ILLEGAL_ATTACK}, {33, NM_GAME_ILLEGAL_DEFENCE}, {34, NM_GAME_INCAPABLE},
    {35, NM_GAME_SERVICE},   {34, NM_GAME_PICK_UP},        {34, NM_GAME_LEAVING_FIELD},   {30, NM_GAME_HANDS},
    {14, NM_GAME_SENT_OFF},
};

/* ---- SPL and HSL: one head, and the same team but for its players ---- */

static const struct row spl_head[] = {
    ROW(nm_game_packet, 5, number),
    ROW(nm_game_packet, 6, players_per_team),
    ROW(nm_game_packet, 7, competition_phase),
    ROW(nm_game_packet, 8, competition),
    ROW(nm_game_packet, 9, phase),
    ROW(nm_game_packet, 10, state),
    ROW(nm_game_packet, 11, set_play),
    ROW(nm_game_packet, 12, first_half),
    ROW(nm_game_packet, 13, kicking_team),
    ROW(nm_game_packet, 14, seconds),
    ROW(nm_game_packet, 16, secondary_seconds),
    {0},
};
static const struct row hsl_head[] = {
    ROW(nm_game_packet, 5, number),
    ROW(nm_game_packet, 6, players_per_team),
    ROW(nm_game_packet, 7, competition),
    ROW(nm_game_packet, 8, stopped),
    ROW(nm_game_packet, 9, phase),
    ROW(nm_game_packet, 10, state),
    ROW(nm_game_packet, 11, set_play),
    ROW(nm_game_packet, 12, first_half),
    ROW(nm_game_packet, 13, kicking_team),
    ROW(nm_game_packet, 14, seconds),
    ROW(nm_game_packet, 16, secondary_seconds),
    {0},
};
static const struct row spl_team[] = {
    ROW(nm_game_team, 0, number),     ROW(nm_game_team, 1, color),          ROW(nm_game_team, 2, keeper_color),
    ROW(nm_game_team, 3, goalkeeper), ROW(nm_game_team, 4, score),          ROW(nm_game_team, 5, shots),
    ROW(nm_game_team, 6, shots_in),   ROW(nm_game_team, 8, message_budget), {0},
};
static const struct row spl_player[] = {ROW(nm_game_player, 0, penalty), ROW(nm_game_player, 1, seconds), {0}};
static const struct row hsl19_player[] = {
    ROW(nm_game_player, 0, penalty),
    ROW(nm_game_player, 1, seconds),
    ROW(nm_game_player, 2, warnings),
    ROW(nm_game_player, 3, cautions),
    {0},
};
static const struct row hsl20_player[] = {
    ROW(nm_game_player, 0, penalty), ROW(nm_game_player, 1, seconds), ROW(nm_game_player, 2, cautions), {0}};

static const struct word spl_set_plays[] = {
    {0, NM_GAME_NO_SET_PLAY}, {1, NM_GAME_GOAL_KICK},    {2, NM_GAME_DIRECT_FREE_KICK},   {3, NM_GAME_CORNER_KICK},
    {4, NM_GAME_THROW_IN},    {5, NM_GAME_PENALTY_KICK}, {2, NM_GAME_INDIRECT_FREE_KICK},
};
static const struct word hsl_set_plays[] = {
    {0, NM_GAME_NO_SET_PLAY}, {1, NM_GAME_DIRECT_FREE_KICK}, {2, NM_GAME_INDIRECT_FREE_KICK}, {3, NM_GAME_PENALTY_KICK},
    {4, NM_GAME_THROW_IN},    {5, NM_GAME_GOAL_KICK},        {6, NM_GAME_CORNER_KICK},
};
static const struct word spl_penalties[] = {
    {0, NM_GAME_NO_PENALTY},    {1, NM_GAME_BALL_HOLDING},
    {2, NM_GAME_PUSHING},       {3, NM_GAME_MOTION_IN_SET},
    {4, NM_GAME_INCAPABLE},     {5, NM_GAME_ILLEGAL_POSITION},
    {6, NM_GAME_LEAVING_FIELD}, {7, NM_GAME_PICK_UP},
    {8, NM_GAME_LOCAL_STUCK},   {9, NM_GAME_ILLEGAL_POSITION_IN_SET},
    {10, NM_GAME_STANCE},       {11, NM_GAME_MOTION_IN_STANDBY},
    {14, NM_GAME_SUBSTITUTE},   {15, NM_GAME_MANUAL},
    {1, NM_GAME_HANDS},         {14, NM_GAME_SENT_OFF},
};
static const struct word hsl19_penalties[] = {
    {0, NM_GAME_NO_PENALTY},     {1, NM_GAME_ILLEGAL_POSITION},
    {2, NM_GAME_MOTION_IN_SET},  {3, NM_GAME_LOCAL_STUCK},
    {4, NM_GAME_INCAPABLE},      {5, NM_GAME_PICK_UP},
    {6, NM_GAME_BALL_HOLDING},   {7, NM_GAME_LEAVING_FIELD},
    {8, NM_GAME_HANDS},          {9, NM_GAME_PUSHING},
    {10, NM_GAME_SENT_OFF},      {11, NM_GAME_SUBSTITUTE},
    {2, NM_GAME_MOTION_IN_STOP}, {1, NM_GAME_ILLEGAL_POSITION_IN_SET},
};
static const struct word hsl20_penalties[] = {
    {0, NM_GAME_NO_PENALTY},     {1, NM_GAME_ILLEGAL_POSITION}, {2, NM_GAME_MOTION_IN_SET},
    {3, NM_GAME_MOTION_IN_STOP}, {4, NM_GAME_LOCAL_STUCK},      {5, NM_GAME_INCAPABLE},
    {6, NM_GAME_PICK_UP},        {7, NM_GAME_BALL_HOLDING},     {8, NM_GAME_LEAVING_FIELD},
    {9, NM_GAME_HANDS},          {10, NM_GAME_PUSHING},         {11, NM_GAME_CAUTIONED},
    {12, NM_GAME_SENT_OFF},      {13, NM_GAME_SUBSTITUTE},      {1, NM_GAME_ILLEGAL_POSITION_IN_SET},
};

/* ---- the dialects ---- */

#define WORDS(set, penalty)                                                                                            \
    .set_plays = set, .n_set_plays = COUNT(set), .penalties = penalty, .n_penalties = COUNT(penalty)
static const struct dialect dialects[] = {
    {12, 12, NM_GAME_HL, 688, 24, 332, 266, 6, 11, NM_GAME_FINISHED, hl_head, hl_team, hl_player,
     WORDS(hl_set_plays, hl_penalties)},
    {15, 16, NM_GAME_SPL, 118, 18, 50, 10, 2, 20, NM_GAME_FINISHED, spl_head, spl_team, spl_player,
     WORDS(spl_set_plays, spl_penalties)},
    {17, 18, NM_GAME_SPL, 118, 18, 50, 10, 2, 20, NM_GAME_STANDBY, spl_head, spl_team, spl_player,
     WORDS(spl_set_plays, spl_penalties)},
    {19, 19, NM_GAME_HSL, 198, 18, 90, 10, 4, 20, NM_GAME_FINISHED, hsl_head, spl_team, hsl19_player,
     WORDS(hsl_set_plays, hsl19_penalties)},
    {20, 20, NM_GAME_HSL, 158, 18, 70, 10, 3, 20, NM_GAME_FINISHED, hsl_head, spl_team, hsl20_player,
     WORDS(hsl_set_plays, hsl20_penalties)},
};

static const struct dialect *dialect_of(uint8_t version)
{
    for (size_t i = 0; i < COUNT(dialects); i++)
        if (version >= dialects[i].first && version <= dialects[i].last) return &dialects[i];
    return NULL;
}

enum nm_game_league nm_game_league(uint8_t version)
{
    const struct dialect *d = dialect_of(version);
    return d ? d->league : NM_GAME_HSL;
}

/* Members of two bytes are numbers; all others, and texts, are bytes. */
static void copy_in(const struct row *rows, const uint8_t *wire, void *to)
{
    for (const struct row *r = rows; r->size; r++) {
        uint8_t *member = (uint8_t *)to + r->member;
        const uint8_t *from = wire + r->at;
        uint16_t number = (uint16_t)(from[0] | (r->size == 2 ? from[1] << 8 : 0));
        if (r->size == 2)
            memcpy(member, &number, 2);
        else
            memcpy(member, from, r->size);
    }
}

static void copy_out(const struct row *rows, uint8_t *wire, const void *from)
{
    for (const struct row *r = rows; r->size; r++) {
        const uint8_t *member = (const uint8_t *)from + r->member;
        uint8_t *to = wire + r->at;
        if (r->size != 2) {
            memcpy(to, member, r->size);
            continue;
        }
        uint16_t number;
        memcpy(&number, member, 2);
        to[0] = (uint8_t)number;
        to[1] = (uint8_t)(number >> 8);
    }
}

static int read_word(const struct word *words, uint8_t n, uint8_t wire, int otherwise)
{
    for (uint8_t i = 0; i < n; i++)
        if (words[i].wire == wire) return words[i].ours;
    return otherwise;
}

static uint8_t write_word(const struct word *words, uint8_t n, uint8_t ours, uint8_t otherwise)
{
    for (uint8_t i = 0; i < n; i++)
        if (words[i].ours == ours) return words[i].wire;
    return otherwise;
}

/* The Humanoid League says in one number which phase or which set play it is. */
static bool read_hl(const uint8_t *wire, const struct dialect *d, struct nm_game_packet *p)
{
    uint8_t secondary = wire[HL_SECONDARY], taking = wire[HL_TAKING];
    if (p->kick_off_team == HL_DROPPED_BALL) p->kick_off_team = NM_GAME_NOBODY;
    p->kicking_team = p->kick_off_team;
    if (secondary <= NM_GAME_TIMEOUT) {
        p->phase = secondary;
        return true;
    }
    if (secondary == 255) return true; /* unknown */
    int set_play = read_word(d->set_plays, d->n_set_plays, secondary, -1);
    if (set_play < 0 || taking > 2) return false;
    p->set_play = (uint8_t)set_play;
    p->taking = (uint8_t)(NM_GAME_PLACING + taking);
    p->kicking_team = wire[HL_TAKER];
    return true;
}

static void write_hl(uint8_t *wire, const struct dialect *d, const struct nm_game_packet *p)
{
    wire[HL_SECONDARY] = write_word(d->set_plays, d->n_set_plays, p->set_play, p->phase);
    if (!p->set_play) return;
    wire[HL_TAKER] = p->kicking_team;
    wire[HL_TAKING] = p->taking ? (uint8_t)(p->taking - NM_GAME_PLACING) : 0;
}

static bool values_exist(const struct dialect *d, const struct nm_game_packet *p)
{
    return p->state <= d->last_state && p->phase <= NM_GAME_TIMEOUT && p->first_half <= 1 && p->stopped <= 1;
}

static void read_team(const uint8_t *wire, const struct dialect *d, struct nm_game_team *team)
{
    copy_in(d->team, wire, team);
    for (uint8_t i = 0; i < d->players; i++) {
        struct nm_game_player *player = &team->players[i];
        copy_in(d->player, wire + d->player_at + i * d->player_size, player);
        player->penalty = (uint8_t)read_word(d->penalties, d->n_penalties, player->penalty, NM_GAME_UNKNOWN_PENALTY);
        if (d->league == NM_GAME_HL && player->goalkeeper && !team->goalkeeper) team->goalkeeper = (uint8_t)(i + 1);
    }
}

static void write_team(uint8_t *wire, const struct dialect *d, const struct nm_game_team *team)
{
    copy_out(d->team, wire, team);
    for (uint8_t i = 0; i < d->players; i++) {
        struct nm_game_player player = team->players[i];
        player.penalty = write_word(d->penalties, d->n_penalties, player.penalty, 255);
        player.goalkeeper = team->goalkeeper == i + 1;
        copy_out(d->player, wire + d->player_at + i * d->player_size, &player);
    }
}

enum nm_game_fault nm_game_decode(const void *bytes, size_t n, struct nm_game_packet *packet)
{
    const uint8_t *wire = bytes;
    *packet = (struct nm_game_packet){0};
    if (n < 6 || (memcmp(wire, "RGme", 4) && memcmp(wire, "RGTD", 4))) return NM_GAME_NO_PACKET;
    const struct dialect *d = dialect_of(wire[4]);
    packet->version = wire[4];
    if (!d) return NM_GAME_FOREIGN;
    if (n != d->size) return NM_GAME_LENGTH;
    packet->truth = wire[2] == 'T';
    copy_in(d->head, wire, packet);
    if (d->league == NM_GAME_HL) {
        if (wire[5] || !read_hl(wire, d, packet)) return NM_GAME_VALUE;
    } else {
        int set_play = read_word(d->set_plays, d->n_set_plays, packet->set_play, -1);
        if (set_play < 0) return NM_GAME_VALUE;
        packet->set_play = (uint8_t)set_play;
        packet->kick_off_team = packet->kicking_team;
    }
    if (!values_exist(d, packet)) return NM_GAME_VALUE;
    for (int i = 0; i < 2; i++) read_team(wire + d->team_at + i * d->team_size, d, &packet->teams[i]);
    return NM_GAME_FINE;
}

size_t nm_game_encode(const struct nm_game_packet *packet, void *bytes, size_t room)
{
    const struct dialect *d = dialect_of(packet->version);
    uint8_t *wire = bytes;
    if (!d || room < d->size) return 0;
    struct nm_game_packet p = *packet;
    memset(wire, 0, d->size);
    memcpy(wire, p.truth ? "RGTD" : "RGme", 4);
    wire[4] = p.version;
    if (d->league != NM_GAME_HL) p.set_play = write_word(d->set_plays, d->n_set_plays, p.set_play, 0);
    copy_out(d->head, wire, &p);
    if (d->league == NM_GAME_HL) write_hl(wire, d, &p);
    for (int i = 0; i < 2; i++) write_team(wire + d->team_at + i * d->team_size, d, &p.teams[i]);
    return d->size;
}

/* ---- return packets ---- */

uint8_t nm_game_return_version(uint8_t control_version)
{
    return nm_game_league(control_version) == NM_GAME_HL ? 2 : 4;
}

enum { RETURN_2 = 8, RETURN_4 = 32, FLOATS_AT = 8, FLOATS = 6 };

static void floats_of(const struct nm_game_return *r, float to[FLOATS])
{
    const float all[FLOATS] = {r->x * 1000, r->y * 1000, r->theta, r->ball_age, r->ball_x * 1000, r->ball_y * 1000};
    memcpy(to, all, sizeof all);
}

size_t nm_game_return_encode(const struct nm_game_return *say, void *bytes, size_t room)
{
    uint8_t *wire = bytes;
    size_t size = say->version == 2 ? RETURN_2 : say->version == 4 ? RETURN_4 : 0;
    if (!size || room < size) return 0;
    memcpy(wire, "RGrt", 4);
    wire[4] = say->version;
    if (size == RETURN_2) {
        wire[5] = say->team;
        wire[6] = say->player;
        wire[7] = say->word;
        return size;
    }
    wire[5] = say->player;
    wire[6] = say->team;
    wire[7] = say->fallen;
    float floats[FLOATS];
    floats_of(say, floats);
    for (int i = 0; i < FLOATS; i++) {
        uint32_t bits;
        if (!isfinite(floats[i])) return 0;
        memcpy(&bits, &floats[i], 4);
        for (int k = 0; k < 4; k++) wire[FLOATS_AT + 4 * i + k] = (uint8_t)(bits >> 8 * k);
    }
    return size;
}

bool nm_game_return_decode(const void *bytes, size_t n, struct nm_game_return *said)
{
    const uint8_t *wire = bytes;
    *said = (struct nm_game_return){0};
    if (n < RETURN_2 || memcmp(wire, "RGrt", 4)) return false;
    said->version = wire[4];
    if (said->version == 2) {
        *said = (struct nm_game_return){.version = 2, .team = wire[5], .player = wire[6], .word = wire[7]};
        return n == RETURN_2 && said->player && said->word < NM_GAME_WORDS;
    }
    if (said->version != 4 || n != RETURN_4 || wire[7] > 1 || !wire[5] || wire[5] > NM_GAME_PLAYERS) return false;
    float f[FLOATS];
    for (int i = 0; i < FLOATS; i++) {
        uint32_t bits = 0;
        for (int k = 0; k < 4; k++) bits |= (uint32_t)wire[FLOATS_AT + 4 * i + k] << 8 * k;
        memcpy(&f[i], &bits, 4);
        if (!isfinite(f[i])) return false;
    }
    *said = (struct nm_game_return){.version = 4,
                                    .player = wire[5],
                                    .team = wire[6],
                                    .fallen = wire[7],
                                    .x = f[0] / 1000,
                                    .y = f[1] / 1000,
                                    .theta = f[2],
                                    .ball_age = f[3],
                                    .ball_x = f[4] / 1000,
                                    .ball_y = f[5] / 1000};
    return true;
}

/* ---- monitors ---- */

void nm_game_request_encode(uint8_t bytes[NM_GAME_REQUEST]) { memcpy(bytes, "RGTr", NM_GAME_REQUEST); }

bool nm_game_request_decode(const void *bytes, size_t n)
{
    return n == NM_GAME_REQUEST && !memcmp(bytes, "RGTr", NM_GAME_REQUEST);
}
