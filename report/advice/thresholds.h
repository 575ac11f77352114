/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thresholds - from where on a rule speaks. The texts of rules.def say the same numbers,
 * as they are made of them.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none.
 * Units    in the names.
 */
#ifndef REPORT_ADVICE_THRESHOLDS_H
#define REPORT_ADVICE_THRESHOLDS_H

#define LEAST_PERCENT     1 /* of a step: what is worth less is not told */
#define EXPLAINED_PERCENT 80 /* by causes: then a consequence is not told */

#define LOADER_PERCENT         5
#define COMMUNICATION_PERCENT  10
#define NCCL_MAJOR             3
#define NCCL_MINOR             5
#define IDLE_PERCENT           50
#define HOST_BUSY_PERCENT      60
#define HOST_TENTHS            8
#define LAUNCH_GAP_US          2
#define LAUNCH_REST_US         1000
#define LAUNCH_LAG_US          10
#define LAUNCH_KERNELS         50
#define LAUNCH_BUSY_PERCENT    80
#define TINY_US                10
#define TINY_KERNELS           50
#define TINY_PERCENT           20
#define SMALL_OPS              500
#define SMALL_US               5
#define GAP_US                 100 /* between operators; what is longer is something else */
#define PLAIN_PERCENT          10
#define PLAIN_FUNCTION_PERCENT 50 /* of that: one function of Python, or of C */
#define LOCK_LEAST_US          4900 /* sys.getswitchinterval() is 5 ms */
#define LOCK_MOST_US           20000 /* and what the system takes to wake a thread */
#define LOCK_SHORT_US          1000
#define LOCK_SHORT_PERCENT     10 /* of the gaps that long or longer */
#define LOCK_PERCENT           10
#define LOCK_NAMES             3
#define COLLECTOR_PERCENT      5
#define THREADS_MANY           2
#define THREADS_FEW_PERCENT    75
#define THREADS_US             200
#define THREADS_PERCENT        30
#define SMALL_SHARE            50
#define SMALL_OTHER_PERCENT    15
#define WAIT_US                50
#define WAIT_PERCENT           1
#define WAIT_COUNT             2
#define COPY_MIB               1
#define COPY_PERCENT           1
#define TENSOR_MAJOR           7
#define TF32_MAJOR             8
#define ELIGIBLE_PERCENT       20
#define PEAK_PERCENT           90
#define FRAGMENT_PERCENT       20
#define CHURN_MIB              1
#define CHURN_PERCENT          30
#define MAPPED_MIB             32 /* the C library's largest M_MMAP_THRESHOLD of its own */
#define MAPPED_US              100 /* a MiB: 256 pages that the system clears and maps */
#define CHURN_TIME_PERCENT     1
#define COMPILE_US             1000
#define STEADY_STEP            3
#define VARY_PERCENT           130
#define FIRST_PERCENT          130
#define GROWTH_KIB             64
#define GROWTH_RISES           3
#define OVERHEAD_PERCENT       10
#define EVENTS_PER_MS          300

#endif
