/* A fault that is told once when it begins and once when it is over, however often it is seen in between. It is over
 * when it has not been seen for a while, so that a flickering contact is one fault and not a flood. */
#ifndef NM_MODULES_HARDWARE_FAULT_H
#define NM_MODULES_HARDWARE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct fault {
    bool on;
    int64_t seen; /* ns, last */
};

enum fault_news { FAULT_SAME, FAULT_BEGINS, FAULT_OVER };

/* Whether it is there now. `calm`: ns without it after which it is over. */
static inline enum fault_news fault_now(struct fault *f, bool there, int64_t now, int64_t calm)
{
    if (there) {
        enum fault_news news = f->on ? FAULT_SAME : FAULT_BEGINS;
        f->on = true;
        f->seen = now;
        return news;
    }
    if (!f->on || now - f->seen < calm) return FAULT_SAME;
    f->on = false;
    return FAULT_OVER;
}

#endif
