#include "trace/trace-target_i386_tcg_pmu.h"
