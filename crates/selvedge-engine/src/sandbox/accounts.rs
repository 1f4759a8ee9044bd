//! The homes of accounts. Programs such as ssh use the account's home, which may differ from `HOME`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// The database of accounts.
const ACCOUNTS: &str = "/etc/passwd";
/// The first number of an account of a person.
const FIRST_PERSON: u32 = 1_000;

/// An entry of the database of accounts.
struct Account<'t> {
    name: &'t str,
    uid: u32,
    home: &'t str,
    shell: &'t str,
}

/// The homes of this user, of the user who ran `sudo`, and for root, of all users with a shell.
pub(super) fn readable_homes(sudo_user: Option<&OsString>) -> Vec<PathBuf> {
    let accounts = fs::read_to_string(ACCOUNTS).unwrap_or_default();
    let own = rustix::process::geteuid().as_raw();
    let homes = homes_in(&accounts, own, sudo_user.map(AsRef::as_ref));
    let existing = homes.filter_map(|home| Path::new(home).canonicalize().ok());
    let mut homes: Vec<PathBuf> = existing.filter(|home| home.parent().is_some()).collect();
    homes.sort();
    homes.dedup();
    homes
}

fn homes_in<'t>(
    accounts: &'t str,
    own: u32,
    sudo_user: Option<&'t OsStr>,
) -> impl Iterator<Item = &'t str> {
    let accounts = accounts.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let uid = fields.nth(1)?.parse().ok()?;
        let home = fields.nth(2)?;
        let shell = fields.next().unwrap_or_default();
        Some(Account {
            name,
            uid,
            home,
            shell,
        })
    });
    let is_readable = move |account: &Account<'_>| {
        let is_person = account.uid >= FIRST_PERSON || account.uid == 0;
        let has_shell = !account.shell.ends_with("/nologin") && !account.shell.ends_with("/false");
        account.uid == own
            || sudo_user == Some(OsStr::new(account.name))
            || (own == 0 && is_person && has_shell)
    };
    accounts.filter(is_readable).map(|account| account.home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_those_of_the_user_and_for_root_of_people() {
        let accounts = "\
root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
ada:x:1000:1000:Ada,,,:/home/ada:/bin/zsh
bob:x:1001:1001::/home/bob:/usr/sbin/nologin
damaged:x
";
        let homes = |own, sudo_user: Option<&'static str>| {
            let homes = homes_in(accounts, own, sudo_user.map(OsStr::new));
            homes.collect::<Vec<_>>()
        };
        assert_eq!(homes(1_000, None), ["/home/ada"]);
        assert_eq!(homes(1_001, Some("ada")), ["/home/ada", "/home/bob"]);
        assert_eq!(homes(0, None), ["/root", "/home/ada"]);
    }
}
