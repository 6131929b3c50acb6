/* The SHA-256 of all files of a folder, as text. With it a replay notices that the description of a robot is no longer
 * the one of the log. */
#pragma once

void nm_folder_digest(const char *folder, char digest[65]);
