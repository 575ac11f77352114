/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_inputs - how the inputs of an operator are described behind its record.
 *
 * Threads  as record.h.
 * Memory   plain bytes, which the writer reads from a spool that may be damaged.
 * Errors   a reader stops at a byte that is no tag, and at the end of the record.
 * Units    sizes and strides in elements, as torch has them.
 */
#ifndef CORE_RECORD_INPUTS_H
#define CORE_RECORD_INPUTS_H

/*
 * Input description of an op, after struct rec_op: a byte stream, padded with
 * IN_END to 8 bytes.  `n` is a number: one byte below 0xf8, else 0xf8 (u8
 * follows), 0xf9 (u16), 0xfa (u32), 0xfb (i64); little endian.
 *
 *   stream := item* IN_END            one item per argument, in order
 *   item   := IN_TENSOR dtype:u8 ndim:n size:n{ndim} stride:n{ndim}
 *           | IN_SPARSE dtype:u8 ndim:n size:n{ndim}      no strides
 *           | IN_TENSORS item* IN_END                     a TensorList
 *           | IN_INT n | IN_DOUBLE f64 | IN_COMPLEX f64 f64
 *           | IN_TRUE | IN_FALSE
 *           | IN_SCALARS item* IN_END                     a ScalarList
 *           | IN_TEXT n byte{n}                           where torch prints text
 *           | IN_OTHER                                    None, strings, ...
 *           | IN_UNDEFINED                                a Tensor without value
 *           | IN_SYM n                                    a symbolic int etc.
 */
enum input_tag {
	IN_END,
	IN_TENSOR,
	IN_SPARSE,
	IN_TENSORS,
	IN_INT,
	IN_DOUBLE,
	IN_COMPLEX,
	IN_TRUE,
	IN_FALSE,
	IN_SCALARS,
	IN_TEXT,
	IN_OTHER,
	IN_UNDEFINED,
	IN_SYM,
	IN_TAGS
};

#endif
