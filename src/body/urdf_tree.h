/* Second half of reading a URDF: names become indices, and links and joints must form one tree. */
#ifndef NM_BODY_URDF_TREE_H
#define NM_BODY_URDF_TREE_H

#include "body/urdf.h"

struct urdf_names { /* of one joint, as written; mimic may be NULL */
    const char *parent, *child, *mimic;
};

/* 0, or -1 with every fault found. */
int urdf_tree(struct nm_urdf *urdf, const struct urdf_names *names, struct nm_err *err);

#endif
