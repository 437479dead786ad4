"""What each switch must hold: pure rule plans. Nothing here imports Ryu, Mininet or Open vSwitch."""
