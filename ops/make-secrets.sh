#!/bin/sh
# Writes the secrets that docker-compose.yml gives to its services. What is there already stays as it is.
# The folder is for you alone; the files in it can be read by others because the services' users are not you, and
# nobody gets to them but through the folder or a mount.
#
#   sh ops/make-secrets.sh [FOLDER]        (default: ops/secrets)
#   TENANT=acme sh ops/make-secrets.sh     whose events the application `app` signs (default: local)
set -eu
umask 077
folder=${1:-$(dirname "$0")/secrets}
tenant=${TENANT:-local}
case $tenant in
    *[!A-Za-z0-9._-]*) echo "TENANT may have letters, digits and . _ - in it" >&2; exit 2 ;;
esac
mkdir -p "$folder"
chmod 700 "$folder"

random() { openssl rand -hex 32; }
keep() { # NAME: takes what comes in as this file, unless it is there
    if [ -e "$folder/$1" ]; then
        cat > /dev/null
    else
        cat > "$folder/.$1.new"
        chmod 444 "$folder/.$1.new"
        mv "$folder/.$1.new" "$folder/$1"
        echo "wrote $1"
    fi
}

hashed() { openssl dgst -sha256 -r | cut -d ' ' -f 1; }

for name in db_admin_password db_owner_password db_app_password audit_key redis_password \
    redis_app_password redis_app_key; do
    random | keep "$name"
done
chmod 400 "$folder/redis_password" # no service reads it: it stands, hashed and not, in the next two

password=$(cat "$folder/redis_password")
app_password=$(cat "$folder/redis_app_password")
keep redis.acl << END
user default on nopass resetkeys resetchannels -@all +ping
user recollect on #$(printf '%s' "$password" | hashed) ~* &* +@all -@admin -@dangerous +info
user app on #$(printf '%s' "$app_password" | hashed) resetkeys resetchannels ~recollect:ingest &memory.ingest -@all +xadd +publish +ping
END
keep redis_keys.json << END
{"$tenant": {"app": "$(cat "$folder/redis_app_key")"}}
END
keep recollect.toml << END
redis_url = "redis://recollect:$password@redis:6379/0"
END
