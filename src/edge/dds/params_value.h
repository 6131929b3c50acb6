/* Values of parameters as ROS 2 carries them (rcl_interfaces/ParameterValue). Our values are written in this form.
 * Values from peers are read with all checks and become text for the parser of the player. */
#pragma once

#include "core/params.h"
#include "edge/dds/pack.h"

/* rcl_interfaces/ParameterType */
enum {
    PARAM_NOT_SET,
    PARAM_BOOL,
    PARAM_INTEGER,
    PARAM_DOUBLE,
    PARAM_STRING,
    PARAM_BYTES,
    PARAM_BOOLS,
    PARAM_INTEGERS,
    PARAM_DOUBLES,
    PARAM_STRINGS
};

struct param_row { /* one parameter; the first is use_sim_time */
    char name[96];
    uint32_t instance, param;
    const struct nm_param *table; /* NULL: use_sim_time */
    struct nm_value told;         /* by the last event  */
};
uint8_t param_kind(const struct param_row *row);
const char *param_kind_word(uint8_t kind); /* "a double" */

/* Always writes all ten members; a NULL row is a value that is not set. */
void param_pack(struct pack *p, const struct param_row *row, const struct nm_value *value);

struct param_given { /* a ParameterValue from a peer; the text points into its bytes */
    uint8_t kind;
    bool flag;
    int64_t whole;
    double number;
    const char *text;
    uint32_t n;
    double list[NM_PARAM_LIST_MAX];
};
void param_unpack(struct unpack *u, struct param_given *given);

/* The value as text. A whole number is accepted for a number. -1 with a sentence. */
int param_text(const struct param_row *row, const struct param_given *given, char *to, size_t size, struct nm_err *err);
