#!/bin/sh
# Runs the examples in examples.txt and speaks the Test Anything Protocol.
echo 'TAP version 13'
line=0 number=0 failed=0
while read -r seconds expected; do
    line=$((line + 1))
    [ "$seconds" != '#' ] || continue
    number=$((number + 1))
    got=$(sh ./duration.sh "$seconds")
    if [ "$got" = "$expected" ]; then
        echo "ok $number - duration.sh $seconds"
    else
        failed=$((failed + 1))
        echo "not ok $number - duration.sh $seconds"
        echo "  ---"
        echo "  message: printed '$got' instead of '$expected'"
        echo "  at: examples.txt:$line"
        echo "  ..."
    fi
done <examples.txt
echo "1..$number"
[ "$failed" -eq 0 ]
