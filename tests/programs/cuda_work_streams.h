/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_work_streams - the modes of cuda_work in which streams or contexts meet.
 *
 * Threads  the program's one.  Memory  none.  Errors  counted, as in cuda_work.
 * Units  none.
 */
#ifndef TESTS_CUDA_WORK_STREAMS_H
#define TESTS_CUDA_WORK_STREAMS_H

/* The device's own context and another one on it, by turns; both are at work at once. */
static void mode_contexts(int steps)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *context[2];
	int (*create)(void **, unsigned, int), (*use)(void *), (*get)(void **);

	*(void **)&create = dlsym(driver, "cuCtxCreate_v2");
	*(void **)&use = dlsym(driver, "cuCtxSetCurrent");
	*(void **)&get = dlsym(driver, "cuCtxGetCurrent");
	count(get(&context[0]));
	count(create(&context[1], 0, 0));
	for (int n = 0; n < steps; n++) {
		for (int c = 0; c < 2; c++) {
			count(use(context[c]));
			launch(c ? beta : alpha, 8, NULL);
			DO(cudaMemsetAsync, device, 0, c ? 512 : 256, NULL);
		}
		for (int c = 0; c < 2; c++) {
			count(use(context[c]));
			DO(cudaDeviceSynchronize);
		}
		step();
	}
}

/* The second stream's kernel is behind the first one's. */
static void mode_events(int steps)
{
	void *event = NULL;

	DO(cudaEventCreate, &event);
	for (int n = 0; n < steps; n++) {
		launch(alpha, 8, stream);
		DO(cudaEventRecord, event, stream);
		DO(cudaStreamWaitEvent, second, event, 0);
		launch(beta, 16, second);
		DO(cudaStreamSynchronize, second);
		step();
	}
}

/* Two streams; which of them the step waits for is a matter of the kernels' times. */
static void mode_path(int steps)
{
	for (int n = 0; n < steps; n++) {
		launch(alpha, 8, stream);
		launch(beta, 16, second);
		launch(alpha, 8, stream);
		DO(cudaStreamSynchronize, stream);
		launch(gamma_, 4, stream);
		DO(cudaStreamSynchronize, second);
		launch(gamma_, 4, stream);
		DO(cudaDeviceSynchronize);
		step();
	}
}

#endif
