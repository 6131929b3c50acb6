/* How contents are collected from records; shared by mcap_contents.c and mcap_check.c only. */
#pragma once

#include "codec/mcap_read.h"

/* Contents while they grow. */
struct nm_mcap_builder {
    struct nm_mcap_contents *c;
    struct nm_err *err;                                                /* what does not fit together */
    uint32_t schemas, channels, chunks, attachments, metadata, counts; /* room of the lists */
    uint64_t loose;
};

/* Empties the contents but for `why`, where sentences go unless there is another place for them. */
void nm_mcap_build_begin(struct nm_mcap_builder *builder, struct nm_mcap_contents *contents, struct nm_err *err);
/* A record of the data section. The chunk of a message is the one that came last. */
void nm_mcap_build_data(struct nm_mcap_builder *builder, const struct nm_mcap_record *record, const char *file);
/* A record of the summary; -1 if it contradicts one before it. */
int nm_mcap_build_summary(struct nm_mcap_builder *builder, const struct nm_mcap_record *record, const char *file);
