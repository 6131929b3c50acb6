/* A folder's files as one number: whether a robot's description is still the one of a log. */
#ifndef NM_EDGE_LOG_ABOUT_H
#define NM_EDGE_LOG_ABOUT_H

void nm_folder_digest(const char *folder, char digest[65]);

#endif
