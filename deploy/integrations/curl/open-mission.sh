#!/bin/sh
# open-mission.sh ID TITLE [PRIORITY [DESCRIPTION]]
set -eu
: "${FIELDMARK_URL:?}" "${FIELDMARK_API_KEY:?}"

# A JSON string: quotes and backslashes escaped, line breaks as \n, other controls dropped.
text() {
  printf '%s' "$1" | tr -d '\000-\010\013-\037\177' | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'
}

body=$(printf '{"source":"%s","externalId":"%s","title":"%s","priority":"%s","description":"%s"}' \
  "$(text "${FIELDMARK_SOURCE:-shell}")" "$(text "$1")" "$(text "$2")" "$(text "${3:-MEDIUM}")" "$(text "${4:-}")")

printf 'header = "Authorization: Bearer %s"\n' "$FIELDMARK_API_KEY" |
  curl --silent --show-error --fail-with-body --config - --retry 3 --max-time 20 \
    --header 'Content-Type: application/json' --data-binary "$body" "$FIELDMARK_URL/api/public/v1/missions"
