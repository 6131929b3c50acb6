/* The sub-commands of nutmeg, one file each. They take their own name as argv[0] and return the exit code. */
#pragma once

int cmd_action(int argc, char **argv);
int cmd_animate(int argc, char **argv);
int cmd_bag(int argc, char **argv);
int cmd_behavior(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_bus(int argc, char **argv) __attribute__((weak)); /* not part of every build */
int cmd_compare(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_dev(int argc, char **argv);
int cmd_eval(int argc, char **argv) __attribute__((weak)); /* needs the simulator */
int cmd_drive(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_graph(int argc, char **argv);
int cmd_label(int argc, char **argv);
int cmd_learn(int argc, char **argv) __attribute__((weak)); /* needs the simulator */
int cmd_lineup(int argc, char **argv);
int cmd_module(int argc, char **argv);
int cmd_monitor(int argc, char **argv);
int cmd_msg(int argc, char **argv);
int cmd_new(int argc, char **argv);
int cmd_nn(int argc, char **argv);
int cmd_node(int argc, char **argv);
int cmd_param(int argc, char **argv);
int cmd_play(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_referee(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_robot(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_service(int argc, char **argv);
int cmd_shell(int argc, char **argv);
int cmd_sim(int argc, char **argv) __attribute__((weak));      /* needs the simulator */
int cmd_snapshot(int argc, char **argv) __attribute__((weak)); /* needs the simulator */
int cmd_stop(int argc, char **argv);
int cmd_tasks(int argc, char **argv);
int cmd_tournament(int argc, char **argv) __attribute__((weak)); /* needs the simulator */
int cmd_train(int argc, char **argv) __attribute__((weak));      /* needs the simulator */
int cmd_tune(int argc, char **argv) __attribute__((weak));       /* needs the simulator */
int cmd_topic(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_why(int argc, char **argv);
