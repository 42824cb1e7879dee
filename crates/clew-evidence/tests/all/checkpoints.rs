//! The register's growth: rule `checkpoint`, and which rows each size keeps good.

use crate::common::{
    CHECKPOINT, Fixture, MACHINES, Nodes, XR, bodies_of, fixtures, register, row_of, tree,
};
use clew_evidence::{
    Checkpoint, EpochRecord, GroupFile, RegisterHead, Row, Rule, consistency, root,
};

const REGISTER: usize = 6;

fn refused(file: &[u8]) -> (usize, Rule) {
    let error = GroupFile::from_bytes(file).unwrap_err();
    (error.part, error.rule)
}

fn checkpoint(nodes: &Nodes, before: Option<u32>, machines: u32) -> Checkpoint {
    let node = |level, index| nodes.get(&(level, index)).copied();
    Checkpoint {
        machines,
        root: root(machines, node).unwrap(),
        hashes: before.map_or(vec![], |before| {
            consistency(before, machines, node).unwrap()
        }),
    }
}

/// The file with checkpoints of these sizes, each with its proof, and with records that bind these.
fn with_sizes(fixture: &Fixture, bound: [u32; 4], sizes: &[u32]) -> Vec<u8> {
    with_records(fixture, &fixture.bound_to(&fixture.nodes, bound), sizes)
}

fn with_records(fixture: &Fixture, epochs: &[EpochRecord], sizes: &[u32]) -> Vec<u8> {
    let nodes = &fixture.nodes;
    let node = |level, index| nodes.get(&(level, index)).copied();
    let before = [None].into_iter().chain(sizes.iter().copied().map(Some));
    let pairs = before.zip(sizes);
    let checkpoints: Vec<Checkpoint> = pairs
        .map(|(before, size)| checkpoint(nodes, before, *size))
        .collect();
    let last = sizes.last();
    let proof = last.map(|last| consistency(*last, fixture.register.machines, node).unwrap());
    let head = RegisterHead {
        last: epochs.last().unwrap().epoch_id(),
        hashes: proof.unwrap_or_default(),
        ..fixture.register.clone()
    };
    fixture.file_of(&bodies_of(&fixture.genesis, epochs, &checkpoints, &head))
}

#[test]
fn checkpoints_keep_rows_good() {
    for fixture in fixtures() {
        for sizes in [&[][..], &[5], &[1], &[2, 3], &[1, 2, 3, 4, 5]] {
            let file = with_sizes(fixture, [sizes.last().copied().unwrap_or(0); 4], sizes);
            let group = GroupFile::from_bytes(&file).unwrap();
            for machines in 1..=MACHINES as u32 {
                let row = fixture.row_at(0, machines);
                let kept = machines == MACHINES as u32 || sizes.contains(&machines);
                assert_eq!(
                    row.is_in_register_of(&group),
                    kept,
                    "{machines} of {sizes:?}"
                );
            }
            assert_eq!(group.register_root(0), None);
        }
    }
}

#[test]
fn an_empty_register_has_no_checkpoint() {
    let epochs = XR.bound_to(&XR.nodes, [0; 4]);
    let empty = RegisterHead {
        last: epochs[3].epoch_id(),
        time: clew_evidence::WallTime::from_nanos(7),
        machines: 0,
        root: [0; 32],
        hashes: vec![],
    };
    let file = |head: &RegisterHead| XR.file_of(&bodies_of(&XR.genesis, &epochs, &[], head));
    let group = GroupFile::from_bytes(&file(&empty)).unwrap();
    assert!(!XR.row(0).is_in_register_of(&group));
    let rooted = RegisterHead {
        root: [1; 32],
        ..empty
    };
    assert_eq!(refused(&file(&rooted)), (5, Rule::Layout));
    let before = XR.with_register(|_, head| {
        (head.machines, head.root, head.hashes) = (0, [0; 32], vec![]);
    });
    assert_eq!(refused(&before), (REGISTER, Rule::Checkpoint));
}

/// Each record binds a register of the file: an epoch id is that of one register.
#[test]
fn records_bind_checkpoints() {
    for fixture in fixtures() {
        for (bound, sizes) in [
            ([0; 4], &[][..]),
            ([0, 0, 3, 3], &[3]),
            ([1, 1, 2, 5], &[1, 2, 5]),
            ([2, 2, 2, 4], &[1, 2, 3, 4]),
        ] {
            let file = with_sizes(fixture, bound, sizes);
            let group = GroupFile::from_bytes(&file).unwrap();
            assert_eq!(
                group
                    .epochs()
                    .iter()
                    .map(|e| e.machines)
                    .collect::<Vec<_>>(),
                bound
            );
        }
        for (bound, sizes, part) in [
            ([0, 0, 0, 3], &[][..], 4),
            ([0, 2, 3, 3], &[2][..], 3),
            ([1, 1, 5, 5], &[1, 3], 3),
            ([0, 0, 0, 5], &[3], 4), // the register's own size is not enough
        ] {
            let file = with_sizes(fixture, bound, sizes);
            assert_eq!(
                refused(&file),
                (part, Rule::Checkpoint),
                "{bound:?} {sizes:?}"
            );
        }
    }
}

#[test]
fn the_register_of_a_record_is_not_smaller_than_before() {
    let file = with_sizes(&XR, [0, 3, 2, 3], &[2, 3]);
    assert_eq!(refused(&file), (3, Rule::Checkpoint));
    let emptied = with_sizes(&XR, [2, 2, 0, 2], &[2]);
    assert_eq!(refused(&emptied), (3, Rule::Checkpoint));
}

#[test]
fn the_root_of_a_record_is_that_of_the_checkpoint() {
    let mut epochs = XR.bound_to(&XR.nodes, [0, 2, 2, 2]);
    epochs[3].root[31] ^= 1;
    let file = with_records(&XR, &epochs, &[2]);
    assert_eq!(refused(&file), (4, Rule::Checkpoint));
    let mut epochs = XR.bound_to(&XR.nodes, [0; 4]);
    epochs[3].root[31] ^= 1;
    assert_eq!(refused(&with_records(&XR, &epochs, &[])), (4, Rule::Layout));
}

/// What the manager can do still, and what it cannot: two files with one epoch id have one register
/// up to the machines that its record binds.
#[test]
fn an_epoch_id_binds_the_register() {
    for fixture in fixtures() {
        let (bound, sizes) = ([0, 0, 2, 2], [2]);
        let group = GroupFile::from_bytes(&with_sizes(fixture, bound, &sizes)).unwrap();
        let another = |index: usize| {
            let mut entries = fixture.entries.clone();
            entries[index].joined += 1;
            tree(&entries)
        };
        // A machine that was enrolled after the last epoch: the ids are the same.
        let (_, head) = register(&another(4), MACHINES as u32, group.last_id());
        let other = fixture.with_register(|_, register| *register = head);
        let other = GroupFile::from_bytes(&other).unwrap();
        assert_eq!(other.last_id(), group.last_id());
        assert_ne!(other.register().root, group.register().root);
        // One that was enrolled before it: the id is another, or the file is refused.
        let nodes = another(1);
        let epochs = fixture.bound_to(&nodes, bound);
        assert_ne!(epochs[3].epoch_id(), group.last_id());
        let (checkpoints, head) = register(&nodes, MACHINES as u32, group.last_id());
        let swapped =
            fixture.with_register(|all, register| (*all, *register) = (checkpoints, head));
        assert_eq!(refused(&swapped), (3, Rule::Checkpoint));
    }
}

#[test]
fn sizes_increase() {
    let nodes = &XR.nodes;
    for sizes in [[2, 2], [3, 2]] {
        let file = XR.with_register(|checkpoints, _| {
            *checkpoints = sizes.map(|size| checkpoint(nodes, None, size)).to_vec();
        });
        assert_eq!(refused(&file), (6, Rule::Checkpoint));
    }
    let larger = XR.with_register(|_, head| {
        head.machines = 1;
        head.hashes = vec![];
    });
    assert_eq!(refused(&larger), (REGISTER, Rule::Checkpoint));
}

#[test]
fn proofs_lead_from_size_to_size() {
    let changes: [fn(&mut Vec<Checkpoint>, &mut RegisterHead); 5] = [
        |_, head| head.hashes[0][0] ^= 1,
        |_, head| head.hashes.truncate(1),
        |_, head| head.hashes.push([0; 32]),
        |_, head| head.root[0] ^= 1,
        |checkpoints, _| checkpoints[0].root[0] ^= 1,
    ];
    for change in changes {
        assert_eq!(
            refused(&XR.with_register(change)),
            (REGISTER, Rule::Checkpoint)
        );
    }
    let between = XR.with_register(|checkpoints, _| {
        let mut second = checkpoint(&XR.nodes, Some(CHECKPOINT), 3);
        second.hashes[0][0] ^= 1;
        checkpoints.push(second);
    });
    assert_eq!(refused(&between), (6, Rule::Checkpoint));
}

#[test]
fn what_has_nothing_before_it_has_no_proof() {
    let first = XR.with_register(|checkpoints, _| checkpoints[0].hashes.push([0; 32]));
    assert_eq!(refused(&first), (5, Rule::Checkpoint));
    let head = XR.with_register(|checkpoints, _| checkpoints.clear());
    assert_eq!(refused(&head), (5, Rule::Checkpoint));
    let whole = with_sizes(&XR, [5; 4], &[5]);
    assert!(GroupFile::from_bytes(&whole).is_ok());
    let same_size = |change: fn(&mut RegisterHead)| {
        XR.with_register(|checkpoints, head| {
            *checkpoints = vec![checkpoint(&XR.nodes, None, head.machines)];
            head.hashes.clear();
            change(head);
        })
    };
    let other_root = same_size(|head| head.root[0] ^= 1);
    assert_eq!(refused(&other_root), (REGISTER, Rule::Checkpoint));
    let proof = same_size(|head| head.hashes.push([0; 32]));
    assert_eq!(refused(&proof), (REGISTER, Rule::Checkpoint));
}

#[test]
fn layout() {
    let none = XR.with_register(|checkpoints, _| checkpoints[0].machines = 0);
    assert_eq!(refused(&none), (5, Rule::Layout));
    let empty = XR.with_register(|checkpoints, _| {
        (checkpoints[0].machines, checkpoints[0].root) = (0, [0; 32]);
    });
    assert_eq!(refused(&empty), (5, Rule::Layout));
    let long = XR.with_register(|checkpoints, _| checkpoints[0].hashes = vec![[0; 32]; 65]);
    assert_eq!(refused(&long), (5, Rule::Layout));
    let long = XR.with_register(|_, head| head.hashes = vec![[0; 32]; 65]);
    assert_eq!(refused(&long), (REGISTER, Rule::Layout));
    let most = XR.with_register(|_, head| head.hashes = vec![[0; 32]; 64]);
    assert_eq!(refused(&most), (REGISTER, Rule::Checkpoint));
}

/// A copy of the store that enrols a machine under the name of an honest one.
fn forked(fixture: &Fixture) -> (Vec<clew_evidence::RegisterEntry>, Nodes) {
    let mut entries = fixture.entries[..1].to_vec();
    let mut twin = fixture.issuer.entry(8, fixture.group.id());
    (twin.index, twin.name) = (1, fixture.entries[0].name.clone());
    crate::common::issuer::vouch(&mut twin, fixture.group.id(), 8);
    entries.push(twin);
    let nodes = tree(&entries);
    (entries, nodes)
}

#[test]
fn rows_of_a_forked_register_do_not_count() {
    for fixture in fixtures() {
        let (entries, nodes) = forked(fixture);
        let row = row_of(&entries, &nodes, 1, 2);
        assert!(
            !row.is_in_register_of(&fixture.group),
            "of a size that there is"
        );
        let claimed = Row { machines: 5, ..row };
        assert!(!claimed.is_in_register_of(&fixture.group));
        // Nor can the file take it up as a checkpoint.
        let file = fixture.with_register(|checkpoints, _| {
            *checkpoints = vec![checkpoint(&nodes, None, 2)];
        });
        assert_eq!(refused(&file), (REGISTER, Rule::Checkpoint));
    }
}
