/* Runs one module in a test: set its inputs, let it step, look at its outputs.
 *
 *     struct nm_harness *h = nm_harness_new(&ball_filter_module, "friction=0.2");
 *     BallRelative *seen = nm_harness_set(h, "ball_relative");
 *     seen->ball_relative.x = 1;
 *     nm_harness_step(h, 0.01);
 *     const BallModel *ball = nm_harness_get(h, "ball");
 *     assert_true(ball->position.x > 0.9);
 *     nm_harness_free(h);
 *
 * The module runs in a real line-up of one cycle, in virtual time. The test brings all topics that the module does not
 * make. A mistake in the test (an unknown topic, a wrong parameter) ends the program with a sentence; so does a step
 * that takes memory (core/alloc_guard.h). */
#pragma once

#include "core/player.h"

struct nm_harness;

/* settings: "param=value, param=value" or NULL. */
struct nm_harness *nm_harness_new(const struct nm_module *module, const char *settings);
/* The same on a robot. The module finds `body` in its context; it must outlive the harness. */
struct nm_harness *nm_harness_new_with(const struct nm_module *module, const char *settings,
                                       const struct nm_body *body);
void nm_harness_free(struct nm_harness *h);

/* The message of an input, or the next message of an input queue, reset and to be filled. It arrives with the next
 * step. */
void *nm_harness_set(struct nm_harness *h, const char *topic);
/* A request to a service of the module, to be filled. The reply has nm_slot(reply)->call == call. */
void *nm_harness_request(struct nm_harness *h, const char *service, int64_t call);

/* One step, `seconds` after the last. */
void nm_harness_step(struct nm_harness *h, double seconds);

/* The latest message of an output, new or old; NULL if it was never published. */
const void *nm_harness_get(struct nm_harness *h, const char *topic);
/* True if the last step published it. */
bool nm_harness_fresh(struct nm_harness *h, const char *topic);
/* The messages that the last step pushed into an output queue. The queue "rosout" has what it wrote with nm_log. */
uint32_t nm_harness_queue(struct nm_harness *h, const char *topic, const void *const **at);

void *nm_harness_self(struct nm_harness *h); /* the module's struct, to look inside */
/* Changes parameters while the module runs: "param=value". */
void nm_harness_param(struct nm_harness *h, const char *settings);
