#!/bin/sh
# One verified backup into FOLDER, encrypted when somebody is named who may read it, and old ones deleted.
#
#   backup.sh FOLDER
#
#   BACKUP_GPG_RECIPIENT      key of who may read it (gpg), or
#   BACKUP_AGE_RECIPIENTS     file with the keys of who may read it (age)
#   BACKUP_KEEP_DAYS          encrypted ones older than this are deleted (30); plain ones by `recollect backup --prune`
#   RECOLLECT                 the program (recollect, or /opt/recollect/bin/recollect where that is)
#
# What it prints last is the file. Nothing half-made keeps a backup's name.
set -eu
umask 077
folder=${1:?give the folder that backups go to}
keep=${BACKUP_KEEP_DAYS:-30}
program=${RECOLLECT:-recollect}
if [ -z "${RECOLLECT:-}" ] && [ -x /opt/recollect/bin/recollect ]; then program=/opt/recollect/bin/recollect; fi
[ -d "$folder" ] || { echo "there is no folder $folder" >&2; exit 2; }
name=recollect-$(date -u +%Y%m%dT%H%M%SZ).rec

if [ -n "${BACKUP_GPG_RECIPIENT:-}" ] || [ -n "${BACKUP_AGE_RECIPIENTS:-}" ]; then
    aside=$(mktemp -d "$folder/.making-XXXXXX")
    trap 'rm -rf "$aside"' EXIT
    trap 'exit 130' INT TERM
    # Noted for as long as the encrypted one is kept: until then `forget` tells that a backup may hold it.
    "$program" backup "$aside/$name" --keep-days "$keep" >&2
    if [ -n "${BACKUP_GPG_RECIPIENT:-}" ]; then
        final=$name.gpg
        gpg --batch --yes --quiet --trust-model always --recipient "$BACKUP_GPG_RECIPIENT" \
            --output "$aside/$final" --encrypt "$aside/$name"
    else
        final=$name.age
        age --recipients-file "$BACKUP_AGE_RECIPIENTS" --output "$aside/$final" "$aside/$name"
    fi
    mv "$aside/$final" "$folder/$final"
    find "$folder" -maxdepth 1 -type f \( -name 'recollect-*.rec.gpg' -o -name 'recollect-*.rec.age' \) \
        -mtime +"$keep" -exec rm -f {} +
else
    final=$name
    "$program" backup "$folder/$name" --keep-days "$keep" >&2
fi
"$program" backup --prune >&2 || true # one that is on another machine, or was changed, is told and left
echo "$folder/$final"
