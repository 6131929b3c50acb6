#include "codec/robocup_protobuf.h"

#include <math.h>
#include <string.h>

#include "base/geometry.h"
#include "codec/protobuf.h"

/* ---- the messages as structs, and their fields as tables ---- */

struct robot {
    uint32_t player;   /* 0: unknown               */
    float position[3]; /* x, y, theta              */
    float covariance[9];
    uint32_t team; /* 0 unknown, 1 blue, 2 red */
};
struct ball {
    float position[3], velocity[3], covariance[9];
};
struct message {
    int64_t seconds, nanos;
    uint32_t state; /* 0 unknown, 1 unpenalised, 2 penalised */
    struct robot self, target;
    float walk[3];
    float kick[2]; /* from the robot; 0: none */
    struct ball ball;
    uint32_t n_others;
    struct robot others[NM_NEWS_OBSTACLES];
    float max_speed, time_to_ball;
    uint32_t role, action, side;
    uint32_t n_confidences;
    float confidences[NM_NEWS_OBSTACLES];
    uint64_t seen; /* a bit for each row of the table */
};

enum kind { END, FLOAT, UINT, LONG, INSIDE /* a message */, OTHERS, CONFIDENCES };
struct field {
    uint32_t number;
    enum kind kind;
    uint16_t member;
    const struct field *inside;
};

static const struct field vector[] = {{1, FLOAT, 0, 0}, {2, FLOAT, 4, 0}, {3, FLOAT, 8, 0}, {0}};
static const struct field plane[] = {{1, FLOAT, 0, 0}, {2, FLOAT, 4, 0}, {0}};
static const struct field matrix[] = {{1, INSIDE, 0, vector}, {2, INSIDE, 12, vector}, {3, INSIDE, 24, vector}, {0}};
static const struct field robot[] = {{1, UINT, offsetof(struct robot, player), 0},
                                     {2, INSIDE, offsetof(struct robot, position), vector},
                                     {3, INSIDE, offsetof(struct robot, covariance), matrix},
                                     {4, UINT, offsetof(struct robot, team), 0},
                                     {0}};
static const struct field ball[] = {{1, INSIDE, offsetof(struct ball, position), vector},
                                    {2, INSIDE, offsetof(struct ball, velocity), vector},
                                    {3, INSIDE, offsetof(struct ball, covariance), matrix},
                                    {0}};
static const struct field timestamp[] = {{1, LONG, 0, 0}, {2, LONG, 8, 0}, {0}};

enum { TIME, STATE, SELF, WALK, TARGET, KICK, BALL, OTHER, SPEED, TIME_TO_BALL, ROLE, ACTION, SIDE, CONFIDENCE };
#define MEMBER(name) offsetof(struct message, name)
static const struct field message[] = {
    [TIME] = {1, INSIDE, MEMBER(seconds), timestamp},
    [STATE] = {2, UINT, MEMBER(state), 0},
    [SELF] = {3, INSIDE, MEMBER(self), robot},
    [WALK] = {4, INSIDE, MEMBER(walk), vector},
    [TARGET] = {5, INSIDE, MEMBER(target), robot},
    [KICK] = {6, INSIDE, MEMBER(kick), plane},
    [BALL] = {7, INSIDE, MEMBER(ball), ball},
    [OTHER] = {8, OTHERS, MEMBER(others), robot},
    [SPEED] = {101, FLOAT, MEMBER(max_speed), 0},
    [TIME_TO_BALL] = {104, FLOAT, MEMBER(time_to_ball), 0},
    [ROLE] = {105, UINT, MEMBER(role), 0},
    [ACTION] = {106, UINT, MEMBER(action), 0},
    [SIDE] = {107, UINT, MEMBER(side), 0},
    [CONFIDENCE] = {108, CONFIDENCES, MEMBER(confidences), 0},
    {0},
};

/* ---- the wire ---- */

static void add_confidence(struct message *m, uint64_t value)
{
    if (m->n_confidences < NM_NEWS_OBSTACLES) m->confidences[m->n_confidences++] = nm_pb_float(value);
}

static bool read_message(struct nm_pb r, const struct field *table, void *to, struct message *whole);

/* A field with another wire type than its row expects is skipped, as another team may use the number; then `*taken` is
 * false. Returns false if the bytes are no message. */
static bool take(struct nm_pb_field *in, const struct field *f, void *to, struct message *whole, bool *taken)
{
    uint8_t *member = (uint8_t *)to + f->member;
    struct nm_pb part = in->inside;
    *taken = true;
    if (f->kind == FLOAT && in->wire == NM_PB_FIXED32) {
        memcpy(member, &in->value, sizeof(float));
    } else if (f->kind == UINT && in->wire == NM_PB_VARINT) {
        memcpy(member, &in->value, sizeof(uint32_t));
    } else if (f->kind == LONG && in->wire == NM_PB_VARINT) {
        memcpy(member, &in->value, sizeof(int64_t));
    } else if (f->kind == CONFIDENCES && in->wire == NM_PB_FIXED32) {
        add_confidence(whole, in->value);
    } else if (f->kind == CONFIDENCES && in->wire == NM_PB_BYTES) {
        while (part.end - part.at >= 4) add_confidence(whole, nm_pb_fixed(&part, 4));
        return part.at == part.end;
    } else if (f->kind == INSIDE && in->wire == NM_PB_BYTES) {
        return read_message(part, f->inside, member, whole);
    } else if (f->kind == OTHERS && in->wire == NM_PB_BYTES) {
        return whole->n_others == NM_NEWS_OBSTACLES ||
               read_message(part, f->inside, &whole->others[whole->n_others++], whole);
    } else {
        *taken = false;
    }
    return true;
}

static bool read_message(struct nm_pb r, const struct field *table, void *to, struct message *whole)
{
    struct nm_pb_field in;
    while (nm_pb_next(&r, &in)) {
        const struct field *f = table;
        bool taken;
        while (f->number && f->number != in.number) f++;
        if (!f->number) continue;
        if (!take(&in, f, to, whole, &taken)) return false;
        if (taken && table == message) whole->seen |= (uint64_t)1 << (f - table);
    }
    return !r.bad;
}

/* A writer notes how much room would be needed; nothing is written behind the end. */
struct writer {
    uint8_t *bytes;
    size_t n, room;
};

static void put_byte(struct writer *w, uint8_t byte)
{
    if (w->n < w->room) w->bytes[w->n] = byte;
    w->n++;
}

static void put_varint(struct writer *w, uint64_t value)
{
    for (; value > 127; value >>= 7) put_byte(w, (uint8_t)(value | 128));
    put_byte(w, (uint8_t)value);
}

static void put_float(struct writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++) put_byte(w, (uint8_t)(bits >> 8 * i));
}

static void put_field(struct writer *w, const struct field *f, const void *from);

static void put_inside(struct writer *w, uint32_t number, const struct field *table, const void *from)
{
    uint8_t bytes[256];
    struct writer inside = {bytes, 0, sizeof bytes};
    for (const struct field *f = table; f->number; f++) put_field(&inside, f, from);
    put_varint(w, number << 3 | NM_PB_BYTES);
    put_varint(w, inside.n);
    for (size_t i = 0; i < inside.n; i++) put_byte(w, bytes[i]);
}

/* Numbers that are zero are left out, as in proto3; so are messages without a field. */
static void put_field(struct writer *w, const struct field *f, const void *from)
{
    const uint8_t *member = (const uint8_t *)from + f->member;
    static const uint8_t zeros[sizeof(struct ball)];
    if (f->kind == FLOAT && memcmp(member, zeros, 4)) {
        float value;
        memcpy(&value, member, sizeof value);
        put_varint(w, f->number << 3 | NM_PB_FIXED32);
        put_float(w, value);
    } else if (f->kind == UINT && memcmp(member, zeros, 4)) {
        uint32_t value;
        memcpy(&value, member, sizeof value);
        put_varint(w, f->number << 3 | NM_PB_VARINT);
        put_varint(w, value);
    } else if (f->kind == LONG && memcmp(member, zeros, 8)) {
        uint64_t value;
        memcpy(&value, member, sizeof value);
        put_varint(w, f->number << 3 | NM_PB_VARINT);
        put_varint(w, value);
    } else if (f->kind == INSIDE) {
        struct writer before = *w;
        put_inside(w, f->number, f->inside, member);
        if (w->n == before.n + 2) *w = before;
    }
}

/* ---- news ---- */

#define NOWHERE 1e4f    /* m^2, of what is not known: larger than any field */
#define UNKNOWN 1e3f    /* m^2, from here on                                */
#define NEVER   9999.0f /* s                                                */

/* Theirs for ours, and back: roles and actions that they do not have become what is nearest. */
static const uint8_t to_role[NM_NEWS_ROLES] = {1, 2, 3, 4, 5, 6, 4};
static const uint8_t from_role[] = {NM_NEWS_OTHER,     NM_NEWS_IDLE,     NM_NEWS_OTHER, NM_NEWS_STRIKER,
                                    NM_NEWS_SUPPORTER, NM_NEWS_DEFENDER, NM_NEWS_KEEPER};
static const uint8_t from_action[] = {NM_NEWS_UNDEFINED,       NM_NEWS_POSITIONING, NM_NEWS_GOING_TO_BALL,
                                      NM_NEWS_TRYING_TO_SCORE, NM_NEWS_WAITING,     NM_NEWS_KICKING,
                                      NM_NEWS_SEARCHING,       NM_NEWS_LOCALIZING,  NM_NEWS_WAITING};
#define LOOK_UP(table, i) ((i) < sizeof(table) / sizeof *(table) ? (table)[i] : (table)[0])

/* columns x, y, theta */
static void to_covariance(float to[9], float sigma_x, float sigma_y, float rho, float sigma_theta)
{
    to[0] = sigma_x * sigma_x;
    to[4] = sigma_y * sigma_y;
    to[1] = to[3] = rho * sigma_x * sigma_y;
    to[8] = sigma_theta * sigma_theta;
}

static void from_covariance(const float from[9], float *sigma_x, float *sigma_y, float *rho, float *sigma_theta)
{
    *sigma_x = sqrtf(fmaxf(from[0], 0));
    *sigma_y = sqrtf(fmaxf(from[4], 0));
    *sigma_theta = sqrtf(fmaxf(from[8], 0));
    float product = *sigma_x * *sigma_y;
    *rho = product > 0 ? fminf(fmaxf(from[1] / product, -1), 1) : 0;
}

static struct pose2 own_pose(const struct nm_team_news *news)
{
    return (struct pose2){(double)news->x, (double)news->y, (double)news->theta};
}

static void from_news(struct message *m, const struct nm_team_news *news)
{
    m->seconds = news->stamp / 1000000000;
    m->nanos = news->stamp % 1000000000;
    m->state = news->state == NM_NEWS_PENALIZED ? 2 : 1;
    m->role = LOOK_UP(to_role, news->role);
    m->action = news->action;
    m->side = news->side;
    m->time_to_ball = isfinite(news->time_to_ball) ? news->time_to_ball : NEVER;
    if (news->measured) m->max_speed = news->max_speed;
    m->self.player = news->player;
    m->self.covariance[0] = m->self.covariance[4] = m->ball.covariance[0] = m->ball.covariance[4] = NOWHERE;
    if (news->knows_pose) {
        memcpy(m->self.position, (float[3]){news->x, news->y, news->theta}, sizeof m->self.position);
        to_covariance(m->self.covariance, news->sigma_x, news->sigma_y, news->rho, news->sigma_theta);
    }
    if (news->knows_ball) {
        memcpy(m->ball.position, (float[3]){news->ball_x, news->ball_y}, sizeof m->ball.position);
        memcpy(m->ball.velocity, (float[3]){news->ball_vx, news->ball_vy}, sizeof m->ball.velocity);
        to_covariance(m->ball.covariance, news->ball_sigma_x, news->ball_sigma_y, news->ball_rho, 0);
    }
    if (news->has_target)
        memcpy(m->target.position, (float[3]){news->target_x, news->target_y, news->target_theta},
               sizeof m->target.position);
    if (news->has_kick && news->knows_pose) {
        struct pose2 at =
            pose2_mul(pose2_inv(own_pose(news)), (struct pose2){(double)news->kick_x, (double)news->kick_y, 0});
        m->kick[0] = (float)at.x;
        m->kick[1] = (float)at.y;
    }
}

static bool is_robot(const struct nm_news_obstacle *o) { return o->kind >= NM_NEWS_ROBOT && o->kind <= NM_NEWS_RIVAL; }

/* Appends a field if it fits. */
static bool append(struct writer *w, const struct field *f, const void *from)
{
    struct writer before = *w;
    put_field(w, f, from);
    if (w->n <= w->room) return true;
    *w = before;
    return false;
}

/* Other robots, while they fit, and a confidence for each. Mates have their number, which tells them from rivals. */
static void append_others(struct writer *w, const struct nm_team_news *news)
{
    static const size_t list = 3; /* bytes of the list of confidences without its numbers */
    float confidences[NM_NEWS_OBSTACLES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < news->n_obstacles && i < NM_NEWS_OBSTACLES; i++) {
        const struct nm_news_obstacle *o = &news->obstacles[i];
        struct robot one = {.player = o->kind == NM_NEWS_MATE ? o->player : 0, .position = {o->x, o->y, 0}};
        if (!is_robot(o)) continue;
        to_covariance(one.covariance, o->sigma, o->sigma, 0, 0);
        struct writer before = *w;
        put_inside(w, message[OTHER].number, robot, &one);
        if (w->n + list + 4 * (n + 1) > w->room) {
            *w = before;
            break;
        }
        confidences[n++] = o->confidence;
    }
    if (!n) return;
    put_varint(w, message[CONFIDENCE].number << 3 | NM_PB_BYTES);
    put_varint(w, 4 * n);
    for (uint32_t i = 0; i < n; i++) put_float(w, confidences[i]);
}

size_t nm_protobuf_encode(const struct nm_team_news *news, void *bytes, size_t room)
{
    static const uint8_t order[] = {STATE, ROLE, BALL, TIME_TO_BALL, ACTION, TIME, TARGET, KICK, SIDE, SPEED};
    struct writer w = {bytes, 0, room};
    struct message m = {0};
    from_news(&m, news);
    if (!append(&w, &message[SELF], &m)) return 0;
    for (size_t i = 0; i < sizeof order; i++) append(&w, &message[order[i]], &m);
    append_others(&w, news);
    return w.n;
}

static bool is_known(const float covariance[9]) { return covariance[0] < UNKNOWN && covariance[4] < UNKNOWN; }

static void to_news(struct nm_team_news *news, const struct message *m)
{
    news->player = (uint8_t)m->self.player;
    news->stamped = m->seen >> TIME & 1;
    if (news->stamped) news->stamp = m->seconds * 1000000000 + m->nanos;
    news->state = m->state == 2 ? NM_NEWS_PENALIZED : m->state == 1 ? NM_NEWS_ACTIVE : NM_NEWS_INACTIVE;
    news->role = LOOK_UP(from_role, m->role);
    news->action = LOOK_UP(from_action, m->action);
    news->side = m->side < NM_NEWS_SIDES ? (uint8_t)m->side : 0;
    news->time_to_ball = m->seen >> TIME_TO_BALL & 1 && m->time_to_ball < NEVER ? m->time_to_ball : INFINITY;
    news->measured = m->seen >> SPEED & 1;
    news->max_speed = m->max_speed;
    news->knows_pose = is_known(m->self.covariance);
    if (news->knows_pose) {
        news->x = m->self.position[0];
        news->y = m->self.position[1];
        news->theta = m->self.position[2];
        from_covariance(m->self.covariance, &news->sigma_x, &news->sigma_y, &news->rho, &news->sigma_theta);
        news->belief = 1;
    }
    news->knows_ball = m->seen >> BALL & 1 && is_known(m->ball.covariance);
    if (news->knows_ball) {
        float none;
        news->ball_x = m->ball.position[0];
        news->ball_y = m->ball.position[1];
        news->ball_vx = m->ball.velocity[0];
        news->ball_vy = m->ball.velocity[1];
        from_covariance(m->ball.covariance, &news->ball_sigma_x, &news->ball_sigma_y, &news->ball_rho, &none);
        news->ball_confidence = 1;
    }
    news->has_target = m->seen >> TARGET & 1;
    news->target_x = m->target.position[0];
    news->target_y = m->target.position[1];
    news->target_theta = m->target.position[2];
    news->has_kick = news->knows_pose && (m->kick[0] != 0 || m->kick[1] != 0);
    if (news->has_kick) {
        struct pose2 at = pose2_mul(own_pose(news), (struct pose2){(double)m->kick[0], (double)m->kick[1], 0});
        news->kick_x = (float)at.x;
        news->kick_y = (float)at.y;
    }
}

static void others_to_news(struct nm_team_news *news, const struct message *m)
{
    for (uint32_t i = 0; i < m->n_others; i++) {
        const struct robot *from = &m->others[i];
        float sigma_y, rho, none;
        struct nm_news_obstacle *o = &news->obstacles[news->n_obstacles++];
        *o = (struct nm_news_obstacle){.kind = from->player ? NM_NEWS_MATE : NM_NEWS_ROBOT,
                                       .player = from->player <= NM_NEWS_PLAYERS ? (uint8_t)from->player : 0,
                                       .x = from->position[0],
                                       .y = from->position[1],
                                       .radius = 0.15f,
                                       .confidence = i < m->n_confidences ? m->confidences[i] : 1};
        from_covariance(from->covariance, &o->sigma, &sigma_y, &rho, &none);
        o->sigma = fmaxf(o->sigma, sigma_y);
    }
}

bool nm_protobuf_decode(const void *bytes, size_t n, struct nm_team_news *news)
{
    struct message m = {0};
    struct nm_pb r = {bytes, (const uint8_t *)bytes + n, false};
    *news = (struct nm_team_news){.time_to_ball = INFINITY};
    if (!n || !read_message(r, message, &m, &m)) return false;
    if (!m.self.player || m.self.player > NM_NEWS_PLAYERS) return false;
    if (m.seconds < -4000000000 || m.seconds > 4000000000 || m.nanos < 0 || m.nanos > 999999999) return false;
    to_news(news, &m);
    others_to_news(news, &m);
    return true;
}
