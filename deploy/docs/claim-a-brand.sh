#!/bin/sh
# What the owner of a website does, against the demo that `make run` started: check the site,
# claim the brand by each of the three proofs, see what to fix first, fix it, ask for a new
# audit, and receive score.changed. Needs curl. The demo serves the files below var/sites in
# front of its own: var/sites/HOST/robots.txt is that file of HOST, and the lines of
# var/sites/_fieldmark-challenge.HOST.txt are TXT records.
set -eu
fieldmark=${FIELDMARK:-bin/fieldmark}
data=${FIELDMARK_DATA:-var}

# member NAME prints the first member of that name of the JSON on standard input.
member() { grep -o "\"$1\": *\"[^\"]*\"" | head -n 1 | sed 's/^[^:]*: *"//; s/"$//'; }
call() { curl -sS --fail-with-body "$@"; }
json='Content-Type: application/json'

base=$(member baseUrl <"$data/demo.json")
# score BRAND prints the brand's score document.
score() { call "$base/api/v1/score/$1"; }
host_of() { printf '%s' "$1" | sed 's|^[a-z]*://||; s|[:/].*||'; }

# claim BRAND PROOF opens a claim, publishes that proof, and prints the key of the owner.
claim() {
	opened=$(call -H "$json" -d "{\"brand\":\"$1\"}" "$base/api/v1/claims")
	id=$(printf '%s' "$opened" | member id)
	secret=$(printf '%s' "$opened" | member secret)
	token=$(printf '%s' "$opened" | grep -o 'token=[a-z2-7]*' | head -n 1 | cut -d = -f 2)
	url=$(score "$1" | member url)
	host=$(host_of "$url")
	mkdir -p "$data/sites/$host/.well-known"
	case $2 in
	dns) echo "v=fm1; claim=$id; token=$token" >"$data/sites/_fieldmark-challenge.$host.txt" ;;
	file) echo "v=fm1; claim=$id; token=$token" >"$data/sites/$host/.well-known/fieldmark-verify.txt" ;;
	meta)
		page=$(call "$url") # before the file is there, which the demo would serve
		printf '%s' "$page" | sed "s|<head>|<head><meta name=\"fieldmark-verify\" content=\"$token\">|" \
			>"$data/sites/$host/index.html"
		;;
	esac
	call -X POST -H "Authorization: Bearer $secret" "$base/api/v1/claims/$id/verify" >/dev/null
	call -X POST -H "Authorization: Bearer $secret" "$base/api/v1/claims/$id/access" | member token
}

slug=stille-pers
site=$(score $slug | member url)

echo "1. Check $site"
check=$(call -H "$json" -d "{\"url\":\"$site\"}" "$base/api/v1/checks" | member id)
report=
while ! printf '%s' "$report" | grep -q '"state":"done"'; do
	report=$(call "$base/api/v1/checks/$check?wait=20s")
done
printf '%s' "$report" | member reason

echo "2. Claim three brands: by a file, a DNS record and a meta tag"
key=$(claim $slug file)
claim ferrum-parts dns >/dev/null
claim casa-lumbre meta >/dev/null

echo "3. What to fix first"
call "$base/api/v1/score/$slug?advice=1" | grep -o '"gains":.*' |
	grep -o '"label":"[^"]*","gain":[^,]*,"score":[0-9.]*' | head -n 3

echo "4. Listen for the new score"
"$fieldmark" webhook listen --data "$data" --brand $slug --events score.changed --count 1 >"$data/listen.log" &
listener=$!
until grep -q listening "$data/listen.log"; do
	kill -0 $listener
	sleep 0.1
done

echo "5. Fix it: let the crawlers in, and ask for a new audit"
printf 'User-agent: *\nAllow: /\n\nSitemap: %ssitemap.xml\n' "$site" >"$data/sites/$(host_of "$site")/robots.txt"
call -X POST -H "Authorization: Bearer $key" "$base/api/v1/brands/$slug/audit" >/dev/null

echo "6. Receive score.changed"
wait $listener
grep -o '"cause".*' "$data/listen.log" | head -n 1
