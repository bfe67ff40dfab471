#!/bin/sh
# A bandit from the shell: LASTBLOCK_URL=http://localhost:8000 LASTBLOCK_KEY=lb_… sh decide.sh
set -eu
call() { # method, path, body
    curl --fail-with-body --silent --show-error --request "$1" "$LASTBLOCK_URL$2" \
        --header "Authorization: Bearer $LASTBLOCK_KEY" \
        --header "Content-Type: application/json" --data "$3"
}

call POST /v1/bandits '{"name": "subject", "arms": ["short", "long"], "policy": "LBSDAGM"}' >/dev/null
decision=$(call POST /v1/bandits/subject/decisions '{}')
token=$(printf %s "$decision" | sed 's/.*"token":"\([^"]*\)".*/\1/')
echo "$decision"
call PUT "/v1/decisions/$token/reward" '{"reward": 1}'
call PUT "/v1/decisions/$token/reward" '{"reward": 1}' # sent twice, counted once
