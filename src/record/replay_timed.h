/* A log played into a line-up by the times of its messages: for logs that have no notes of runs, such as those of other
 * people's robots. The cycles run in virtual time, as in the simulator, and each message enters when the log says that
 * it was there. Which topics enter, and how (replay_inlets.c); playing (replay_timed.c). */
#ifndef NM_RECORD_REPLAY_TIMED_H
#define NM_RECORD_REPLAY_TIMED_H

#include "record/replay_inside.h"
#include "codec/msgdef.h"

/* A channel of the log. */
struct inlet {
    const char *name;         /* of its topic in the log                              */
    const char *to;           /* the same as the line-up says it, without '/'         */
    uint32_t topic;           /* of the line-up; NM_NONE: nobody reads it             */
    uint32_t port;            /* of the edge                                          */
    const struct nm_def *def; /* of messages that are mapped; NULL: they are as ours  */
    bool jpeg;                /* a CompressedImage for an Image                       */
    bool renamed;             /* by --remap                                           */
    bool anew;                /* the line-up makes it itself                          */
    bool latched;             /* what was said before --from counts, too              */
    uint32_t clock;           /* that its times run by; CLOCKS: not known yet         */
    uint64_t given, refused;
};

enum { CLOCKS = 8, FRAMES = 128, FRAME_NAME = 64 };

struct timed {
    struct replay *r;
    uint32_t n_inlets;
    struct inlet *inlets; /* of all channels, part by part                      */
    uint32_t *parts;      /* where those of each part begin                     */
    uint32_t *ports;      /* of each topic: of `in`, NM_NONE: not from the log  */
    uint32_t *made_ports; /* of each topic: of `out`, NM_NONE: not made here    */
    uint32_t *blobs;      /* of each topic: bytes of a picture                  */
    struct nm_edge *in, *out;
    void *scratch;     /* a message of any of the topics that are queues     */
    int64_t now;       /* ns, the player's                                   */
    int64_t slice;     /* ns between two looks at what was made              */
    int64_t left_out;  /* ns of silence                                      */
    uint32_t silences; /* that were left out                                 */
    int64_t first;     /* ns: the player's time of the first message         */
    double began;      /* s, real time                                       */
    bool too_long;     /* the log does not end                               */
    uint32_t n_clocks; /* ways from the times in messages to the log's       */
    int64_t clocks[CLOCKS];
    uint32_t n_frames; /* whose transforms the line-up makes itself          */
    char frames[FRAMES][FRAME_NAME];
};

static inline struct inlet *inlet_of(const struct timed *t, uint32_t part, uint32_t channel)
{
    return &t->inlets[t->parts[part] + channel];
}

/* replay_inlets.c: finds the inlets and says what is missing; -1 with a sentence if nothing of the log is read. */
int inlets_open(struct timed *t, struct nm_err *err);
/* Chooses the channels that are read, or of these only the latched ones. */
void inlets_choose(struct timed *t, bool latched);
/* A message into the struct of its topic; 0, or -1 with a sentence. */
int inlet_decode(const struct inlet *inlet, const struct nm_type *type, void *message, const struct nm_mcap_message *in,
                 struct nm_blob_pool *pool, struct nm_err *err);

/* replay_timed.c: all of it; -1 with a sentence. */
int replay_timed(struct replay *r, struct nm_err *err);

#endif
