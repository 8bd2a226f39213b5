package estimate

import (
	"math/big"
	"math/bits"
	"sort"
)

// micro is the unit of quantiles and of effective numbers of answers: millionths.
const micro = 1_000_000

// z975 and z9995 are the quantiles 0.975 and 0.9995 of the normal distribution, in
// billionths: an interval of 95 %, and an alarm with an error of 0.1 %.
const (
	z975  = 1_959_963_985
	z9995 = 3_290_526_731
)

// t975 has the quantile 0.975 of Student's t for 1 to 9 degrees of freedom in millionths,
// where the expansion of quantile is not exact enough.
var t975 = [...]int64{0, 12_706_205, 4_302_653, 3_182_446, 2_776_445, 2_570_582, 2_446_912, 2_364_624, 2_306_004,
	2_262_157}

// minDegrees is the least number of degrees of freedom of the expansion.
const minDegrees = 10

// T975 returns the quantile 0.975 of Student's t with a number of degrees of freedom of at
// least 1, in millionths.
func T975(degrees int) int64 {
	if degrees < len(t975) {
		return t975[max(degrees, 1)]
	}
	return quantile(z975, degrees)
}

// maxDegrees keeps the denominators of quantile within 64 bits. With more degrees of freedom, which no study has,
// the quantile is smaller by less than 0.003.
const maxDegrees = 3_000

// quantile returns the quantile of Student's t with at least minDegrees degrees of freedom
// whose normal quantile is z billionths, in millionths. It is the expansion of Cornish and
// Fisher to the fourth power of 1/degrees (Abramowitz and Stegun, 26.7.5). For the z of this package, 1.9 to 4.5,
// the polynomials are positive, and sums fit into 128 bits.
func quantile(z int64, degrees int) int64 {
	const one = 1_000_000_000_000 // of the powers of z
	var pow [10]uint64
	pow[0] = one
	for i := 1; i < len(pow); i++ {
		pow[i] = mulDiv(pow[i-1], uint64(z), billion)
	}
	sum, below := pow[1], uint64(1)
	for _, g := range expansion {
		below *= uint64(min(degrees, maxDegrees))
		var hi, lo, carry uint64
		for power, factor := range g.factors {
			h, l := bits.Mul64(pow[power], uint64(max(factor, -factor)))
			if factor > 0 {
				lo, carry = bits.Add64(lo, l, 0)
				hi, _ = bits.Add64(hi, h, carry)
			} else {
				lo, carry = bits.Sub64(lo, l, 0)
				hi, _ = bits.Sub64(hi, h, carry)
			}
		}
		term, _ := bits.Div64(hi, lo, below*g.below)
		sum += term
	}
	const round = one / micro
	return int64((sum + round/2) / round)
}

// expansion has the terms of quantile: polynomials of z over a whole number. The index of a
// factor is its power of z.
var expansion = [...]struct {
	factors [10]int64
	below   uint64
}{
	{[10]int64{1: 1, 3: 1}, 4},
	{[10]int64{1: 3, 3: 16, 5: 5}, 96},
	{[10]int64{1: -15, 3: 17, 5: 19, 7: 3}, 384},
	{[10]int64{1: -945, 3: -1920, 5: 1482, 7: 776, 9: 79}, 92_160},
}

// halfUp returns n/d rounded half up, for n >= 0 and d > 0.
func halfUp(n, d *big.Int) *big.Int {
	twice := new(big.Int).Lsh(n, 1)
	return twice.Quo(twice.Add(twice, d), new(big.Int).Lsh(d, 1))
}

// holmZ returns the normal quantile 1 - 0.025/tests in billionths; of the next larger number
// of tests if there is no value for this one, which is on the safe side.
func holmZ(tests int) int64 {
	i := sort.Search(len(zOfTests)-1, func(i int) bool { return zOfTests[i].tests >= tests })
	return zOfTests[i].z
}

// zOfTests has the quantiles of holmZ, up to all pairs of 100 brands.
var zOfTests = [...]struct {
	tests int
	z     int64
}{
	{1, 1959963985}, {2, 2241402728}, {3, 2393979800}, {4, 2497705474},
	{5, 2575829304}, {6, 2638257273}, {7, 2690109527}, {8, 2734368787},
	{9, 2772921295}, {10, 2807033768}, {11, 2837596913}, {12, 2865260239},
	{13, 2890511561}, {14, 2913726318}, {15, 2935199469}, {16, 2955166847},
	{17, 2973819901}, {18, 2991316115}, {19, 3007786556}, {20, 3023341440},
	{21, 3038074305}, {22, 3052065202}, {23, 3065383152}, {24, 3078088073},
	{25, 3090232306}, {26, 3101861834}, {27, 3113017263}, {28, 3123734630},
	{29, 3134046055}, {30, 3143980287}, {31, 3153563159}, {32, 3162817966},
	{33, 3171765783}, {34, 3180425743}, {35, 3188815259}, {36, 3196950229},
	{37, 3204845205}, {38, 3212513537}, {39, 3219967505}, {40, 3227218426},
	{42, 3241152166}, {45, 3260767488}, {48, 3279024298}, {51, 3296093972},
	{54, 3312117666}, {57, 3327212992}, {60, 3341478956}, {63, 3354999669},
	{67, 3371991079}, {71, 3387928829}, {75, 3402932835}, {79, 3417103817},
	{83, 3430527171}, {88, 3446365263}, {93, 3461269447}, {98, 3475341139},
	{103, 3488666223}, {109, 3503773350}, {115, 3518018159}, {121, 3531491501},
	{128, 3546337887}, {135, 3560343232}, {142, 3573595546}, {150, 3587914672},
	{158, 3601443094}, {166, 3614261603}, {175, 3627919521}, {184, 3640850281},
	{194, 3654451915}, {204, 3667328284}, {215, 3680739900}, {226, 3693442058},
	{238, 3706571393}, {250, 3719016485}, {263, 3731803116}, {277, 3744844673},
	{291, 3757205626}, {306, 3769769029}, {322, 3782470496}, {339, 3795253582},
	{356, 3807375444}, {374, 3819560182}, {393, 3831766495}, {413, 3843958727},
	{434, 3856106368}, {456, 3868183536}, {479, 3880168480}, {503, 3892043104},
	{529, 3904250205}, {556, 3916273947}, {584, 3928108914}, {614, 3940142493},
	{645, 3951942468}, {678, 3963863882}, {712, 3975523126}, {748, 3987245243},
	{786, 3998990506}, {826, 4010724592}, {868, 4022418102}, {912, 4034046072},
	{958, 4045587497}, {1006, 4057024880}, {1057, 4068564389}, {1110, 4079951774},
	{1166, 4091378568}, {1225, 4102809525}, {1287, 4114214303}, {1352, 4125567006},
	{1420, 4136845724}, {1491, 4148032088}, {1566, 4159256780}, {1645, 4170485521},
	{1728, 4181688787}, {1815, 4192841363}, {1906, 4203921900}, {2002, 4215025246},
	{2103, 4226119668}, {2209, 4237177928}, {2320, 4248176846}, {2436, 4259096866},
	{2558, 4270008855}, {2686, 4280886352}, {2821, 4291785514}, {2963, 4302675525},
	{3112, 4313529925}, {3268, 4324326188}, {3432, 4335109406}, {3604, 4345854142},
	{3785, 4356596617}, {3975, 4367309953}, {4174, 4377971207}, {4383, 4388610600},
	{4603, 4399251645}, {4834, 4409867244}, {4950, 4414999763}}
