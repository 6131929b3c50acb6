/* A library without a module. */
int goals_scored(void);
int goals_scored(void) { return 0; }
