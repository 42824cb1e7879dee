//! Packets that the kernel dropped because this process did not read them in time.

use std::fs;

/// Column of the tables of UDP sockets: the socket's inode, and its drops.
const INODE: usize = 9;
const DROPS: usize = 12;

/// Column of the table of interfaces, behind the name: drops of packets that leave the host.
const TRANSMIT_DROPS: usize = 11;

/// Returns how many datagrams came to UDP sockets that had no room for them. A socket that is not in the
/// tables counts none.
pub(super) fn dropped_by_sockets(inodes: &[u64]) -> u64 {
    let tables = ["/proc/self/net/udp", "/proc/self/net/udp6"].into_iter();
    let tables = tables.filter_map(|path| fs::read_to_string(path).ok());
    tables.map(|table| of_sockets(&table, inodes)).sum()
}

/// Returns how many packets an interface had no room for on their way out of the host.
pub(super) fn dropped_by_interface(name: &str) -> u64 {
    let table = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    of_interface(&table, name).unwrap_or(0)
}

fn of_sockets(table: &str, inodes: &[u64]) -> u64 {
    let drops = |line: &str| -> Option<u64> {
        let mut columns = line.split_ascii_whitespace();
        let inode = columns.nth(INODE)?.parse().ok()?;
        let drops = columns.nth(DROPS - INODE - 1)?.parse().ok()?;
        inodes.contains(&inode).then_some(drops)
    };
    table.lines().filter_map(drops).sum()
}

fn of_interface(table: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.split_once(':'));
    let (_, columns) = lines.find(|(of, _)| of.trim() == name)?;
    let drops = columns.split_ascii_whitespace().nth(TRANSMIT_DROPS)?;
    drops.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOCKETS: &str = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
        uid  timeout inode ref pointer drops\n\
        \x20 318: 00000000:132D 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 \
        21573 2 0000000000000000 17\n\
        \x20 319: 00000000:132E 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 \
        21574 2 0000000000000000 5\n";

    const INTERFACES: &str = "Inter-|   Receive                                                |  Transmit\n\
        \x20face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop \
        fifo colls carrier compressed\n\
        \x20   lo:  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
        clew-lan: 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36\n";

    #[test]
    fn drops_are_those_of_the_own_sockets() {
        assert_eq!(of_sockets(SOCKETS, &[21_573]), 17);
        assert_eq!(of_sockets(SOCKETS, &[21_574, 21_573]), 22);
        assert_eq!(of_sockets(SOCKETS, &[7]), 0);
        assert_eq!(of_sockets("junk\n", &[7]), 0);
    }

    #[test]
    fn drops_are_those_of_packets_that_leave() {
        assert_eq!(of_interface(INTERFACES, "clew-lan"), Some(32));
        assert_eq!(of_interface(INTERFACES, "lo"), Some(12));
        assert_eq!(of_interface(INTERFACES, "lan"), None);
    }
}
