/* SPDX-License-Identifier: Apache-2.0 */
/* log: lines on stderr. Under the journal each line carries its priority. */
#ifndef TD_IO_LOG_H
#define TD_IO_LOG_H

enum td_log_level { TD_LOG_ERROR = 3, TD_LOG_WARNING = 4, TD_LOG_INFO = 6, TD_LOG_DEBUG = 7 };

/* td_log_init sets the highest level that is printed, and the name at the beginning of lines. */
void td_log_init(enum td_log_level most, const char *name);
void td_log(enum td_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
