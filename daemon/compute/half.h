/* SPDX-License-Identifier: Apache-2.0 */
/* half: conversion between float and the two 16-bit floating-point types. From float: round to
 * nearest, ties to even; overflow becomes infinity; a NaN stays a quiet NaN with the upper bits of
 * its payload. The code has no branches and no tables, so loops over it vectorise on any machine.
 * Pure. */
#ifndef TD_COMPUTE_HALF_H
#define TD_COMPUTE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float td_float_of_bits(uint32_t bits)
{
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t td_float_bits(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* IEEE binary16: 1 bit of sign, 5 of exponent (biased by 15), 10 of fraction; a float has 1, 8
 * (biased by 127) and 23. */
static inline float td_half_to_float(uint16_t half)
{
    uint32_t magnitude = half & 0x7fffu, sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t rebias = (127u - 15) << 23;
    /* rebias twice for infinities and NaNs, so that an exponent of all ones stays all ones */
    uint32_t normal = (magnitude << 13) + rebias + (magnitude >= 0x7c00 ? rebias : 0);
    /* a subnormal counts units of 2^-24, the last place of numbers in [0.5, 1) */
    float subnormal = td_float_of_bits(0x3f000000u | magnitude) - 0.5f;
    return td_float_of_bits((magnitude < 0x0400 ? td_float_bits(subnormal) : normal) | sign);
}

static inline uint16_t td_half_from_float(float value)
{
    uint32_t bits = td_float_bits(value), magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude - ((127u - 15) << 23) + 0x0fff + (magnitude >> 13 & 1)) >> 13;
    /* the addition rounds to units of 2^-24 */
    uint32_t subnormal = td_float_bits(td_float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t result = magnitude < 0x38800000u /* 2^-14 */ ? subnormal : normal;
    result = magnitude >= 0x47800000u /* 2^16; rounding carries numbers from 65520 up to it */
                 ? 0x7c00
                 : result;
    result = magnitude > 0x7f800000u ? 0x7e00 | (magnitude >> 13 & 0x03ff) : result;
    return (uint16_t)(result | (bits >> 16 & 0x8000));
}

/* bfloat16 is the upper half of a float. */
static inline float td_bfloat16_to_float(uint16_t value)
{
    return td_float_of_bits((uint32_t)value << 16);
}

static inline uint16_t td_bfloat16_from_float(float value)
{
    uint32_t bits = td_float_bits(value);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x0040 : rounded);
}

#endif
