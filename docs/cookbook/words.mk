# SPDX-License-Identifier: Apache-2.0
# Counts the words of each Python file, and compiles a server, for the cookbook.
words := $(patsubst %.py,%.words,$(wildcard *.py))

all: $(words) server

%.words: %.py
	tr -c '[:alnum:]_' '\n' < $< | sort | uniq -c | sort -rn | head -n 20 > $@

server: server.cc
	g++ -g -O2 -o $@ $<
