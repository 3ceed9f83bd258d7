#include "trace/trace-hw_dma_intel_dsa.h"
